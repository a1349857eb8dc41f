// Tests MSCCL algorithms on the example machine (tests/support/example_equipped.hpp), whose values are round numbers.
// Every call has its counterpart at the other end, a ring takes as long as the library's own ring, thread blocks wait
// for each other, and full connections block their senders.
#include "models/workload/collective/algorithm_program.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "models/algorithms/msccl/xml_writer.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"
#include "models/workload/collective/channel_kernel.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/msccl.hpp"
#include "tests/support/example_channels.hpp"
#include "tests/support/example_codec.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::collective {
namespace {

using ir::Buffer;
using ir::Op;
using libraries::example_equipped;
using Shared = std::shared_ptr<const msccl::Algorithm>;

constexpr msccl::Fifo fifo{static_cast<std::uint64_t>(example_chunk), 4};  // of example_channels
constexpr Bytes held{32 * 1024 * 1024};

Shared compiled(const std::string& name, const std::string& parameters, mscclang::Shape shape) {
  config::Diagnostics diagnostics;
  const auto node = config::load_text("test.yaml", parameters, {}, diagnostics);
  auto made = mscclang::find_program(name)->compile(*node, diagnostics, shape);
  EXPECT_TRUE(diagnostics.ok());
  return std::make_shared<const msccl::Algorithm>(std::move(*made));
}

replay::Result run(const libraries::EquippedSystem& system, const Shared& algorithm, double bytes,
                   const libraries::LibrarySpec& library = example_channels(), Bytes keeps = held) {
  program::Program program(static_cast<Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append_channel_kernel(build, algorithm_program(algorithm, static_cast<std::uint64_t>(bytes), fifo, keeps), library,
                        library.channels->simple, 4, "algorithm");
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  return replay::Replay(*machine, program).run();
}

replay::Result run_own(const libraries::EquippedSystem& system, Kind kind, double bytes) {
  program::Program program(static_cast<Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append(build,
         {.kind = kind,
          .bytes = Bytes{bytes},
          .method = {.algorithm = Algorithm::ring, .own_share = OwnShare::left, .library = example_channels()},
          .element_bytes = 4},
         "own");
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  return replay::Replay(*machine, program).run();
}

TEST(AlgorithmProgram, EveryCallMeetsItsOtherEnd) {
  for (const char* name : {"all_reduce_ring", "all_reduce_all_pairs", "all_reduce_hierarchical", "all_to_all_two_step",
                           "all_gather_recursive_doubling", "broadcast_chain"}) {
    const Shared algorithm = compiled(name, "instances: 2", {2, 4});
    for (const double bytes : {65536., 4194304., 134217728.}) {
      const auto program = algorithm_program(algorithm, static_cast<std::uint64_t>(bytes), fifo, held);
      // The sizes of the calls of each connection, in order. Sender, receiver and number identify a connection.
      std::map<std::tuple<Rank, Rank, std::uint32_t>, std::vector<double>> sent, received;
      for (Rank rank = 0; rank < 8; ++rank) {
        for (std::uint32_t channel = 0; channel < program->channels_of(rank); ++channel) {
          Step step;
          for (std::uint32_t n = 0; program->step(rank, channel, 0, n, step); ++n, step = {}) {
            if (step.op == Op::none) continue;
            ASSERT_GT(step.bytes, 0);
            ASSERT_LE(step.bytes, example_chunk);
            if (effect(step.op).sends) {
              auto& calls = sent[{rank, step.to, step.out}];
              ASSERT_EQ(step.sent, calls.size());
              ASSERT_EQ(program->receiver(rank, step.out), step.to);
              calls.push_back(step.bytes);
            }
            if (effect(step.op).receives) {
              auto& calls = received[{step.from, rank, step.in}];
              ASSERT_EQ(step.received, calls.size());
              ASSERT_EQ(program->sender(rank, step.in), step.from);
              calls.push_back(step.bytes);
            }
          }
        }
      }
      EXPECT_EQ(sent, received) << name << " " << bytes;
      EXPECT_FALSE(sent.empty());
    }
  }
}

TEST(AlgorithmProgram, ACompiledRingTakesWhatTheLibrarysRingTakes) {
  for (const std::int64_t gpus : {2, 3, 4}) {
    const libraries::EquippedSystem system = example_equipped(gpus);
    const double whole = static_cast<double>(gpus) * example_chunk;
    EXPECT_EQ(run(system, compiled("all_gather_ring", "{}", {1, gpus}), whole).end,
              run_own(system, Kind::all_gather, example_chunk).end)
        << gpus;
    EXPECT_EQ(run(system, compiled("all_reduce_ring", "{}", {1, gpus}), whole).end,
              run_own(system, Kind::all_reduce, whole).end)
        << gpus;
  }
}

// With LL128 a call puts a fractional number of bytes on the wire. The network must still deliver as many bytes as it
// was given.
TEST(AlgorithmProgram, PartsOfBytesAreNotLostBetweenNodes) {
  libraries::LibrarySpec library = example_channels();
  library.channels->simple.wire = 1.067;
  const Shared algorithm = compiled("all_reduce_hierarchical", "{}", {8, 4});
  for (const double elements : {1001., 12347., 22221.}) {
    const double bytes = static_cast<double>(algorithm->chunks) * 4 * elements;
    EXPECT_EQ(run(example_equipped(4, 8), algorithm, bytes, library).deadlock, "");
  }
}

msccl::Step local(Op type, std::int32_t from, std::int32_t to) {
  return {.type = type,
          .src_buffer = Buffer::input,
          .dst_buffer = Buffer::output,
          .count = 1,
          .src_offset = from,
          .dst_offset = to};
}

msccl::Algorithm on_one_gpu(std::vector<msccl::ThreadBlock> blocks) {
  msccl::Algorithm made;
  made.collective = ir::Collective::custom;
  made.chunks = 4;
  made.gpus.push_back({.input_chunks = 4, .output_chunks = 4, .blocks = std::move(blocks)});
  return made;
}

TEST(AlgorithmProgram, AThreadBlockWaitsForAnother) {
  libraries::LibrarySpec library = example_channels(2);
  library.channels->local_overhead = Time::from_us(3);
  library.channels->order_overhead = Time::from_us(2);
  msccl::ThreadBlock first, second;
  first.steps = {local(Op::copy, 0, 0)};
  second.steps = {local(Op::copy, 1, 1)};
  const auto apart = on_one_gpu({first, second});
  const double alone =
      run(example_equipped(1), std::make_shared<const msccl::Algorithm>(apart), 4 * example_chunk, library).end.us();
  first.steps[0].has_dependents = true;
  second.steps[0].depends_block = 0;
  second.steps[0].depends_step = 0;
  const auto ordered = on_one_gpu({first, second});
  const double both =
      run(example_equipped(1), std::make_shared<const msccl::Algorithm>(ordered), 4 * example_chunk, library).end.us();
  // The second copy follows the first. It adds, in us: its own time without setup and launch, 2 x 2 of order_overhead,
  // 0.1 for the flag and 0.1 for the poll.
  const double copy = 3 + 1.024 + 0.4;  // 0.4 until the loads arrive
  EXPECT_NEAR(both - alone, copy + 2 * 2 + 0.1 + 0.1, 0.01);
}

// A copy waits 0.4 us for the memory and 0.1 us for the L2.
TEST(AlgorithmProgram, DataThatWereUsedBeforeAreInTheL2) {
  const auto copies = [](std::int32_t second, Bytes keeps) {
    msccl::ThreadBlock block;
    block.steps = {local(Op::copy, 0, 0), local(Op::copy, second, 1)};
    const auto made = std::make_shared<const msccl::Algorithm>(on_one_gpu({block}));
    return run(example_equipped(1), made, 4 * example_chunk, example_channels(), keeps).end.us();
  };
  EXPECT_NEAR(copies(1, held) - copies(0, held), 0.4 - 0.1, 0.05) << "the rate of the loads changes a little as well";
  EXPECT_EQ(copies(0, Bytes{3 * example_chunk - 1}), copies(1, held)) << "one input and two outputs do not fit";
  EXPECT_EQ(copies(0, Bytes{3 * example_chunk}), copies(0, held));
}

// A round takes 0.4 us, the latency of the memory. Bytes that fill no turn take one round more.
TEST(AlgorithmProgram, ALoopTakesWholeRounds) {
  msccl::ThreadBlock block;
  block.steps = {local(Op::copy, 0, 0)};
  const auto made = std::make_shared<const msccl::Algorithm>(on_one_gpu({block}));
  const auto added = [&](double bytes, Bytes turn) {
    libraries::LibrarySpec library = example_channels();
    const auto time = [&] { return run(example_equipped(1), made, 4 * bytes, library).end.us(); };
    const double without = time();
    library.channels->simple.turn = turn;
    return time() - without;
  };
  const double round = example_channels().channels->simple.bytes_in_flight.value;
  EXPECT_NEAR(added(round, Bytes{round / 4}), 0, 1e-5);
  EXPECT_NEAR(added(round / 4, Bytes{round / 4}), 0.4 * 3 / 4, 1e-5) << "one turn takes as long as four";
  EXPECT_NEAR(added(round * 3 / 8, Bytes{round / 4}), 0.4 * (2 - 3. / 8), 1e-5) << "one turn, then half a turn";
  EXPECT_NEAR(added(round / 8, Bytes{round / 4}), 0.4 * 7 / 8, 1e-5) << "less than a turn";
  EXPECT_NEAR(added(round * 9 / 8, Bytes{round / 4}), 0.4 * 7 / 8, 1e-5);
}

// A connection's first send loads the receiver's counter.
TEST(AlgorithmProgram, TheFirstSendMayLoadCounters) {
  libraries::LibrarySpec library = example_channels();
  library.channels->first_send_loads = 2;
  const auto time_of = [](const Shared& algorithm, const libraries::LibrarySpec& with) {
    return run(example_equipped(2), algorithm, 4 * example_chunk, with).end.us();
  };
  const Shared ring = compiled("all_gather_ring", "{}", {1, 2});
  EXPECT_NEAR(time_of(ring, library) - time_of(ring, example_channels()), 2 * 0.4, 1e-5);
}

// A thread block with a connection takes connection_setup before its first step.
TEST(AlgorithmProgram, AConnectionIsSetUpOnce) {
  libraries::LibrarySpec library = example_channels();
  library.channels->connection_setup = Time::from_us(7);
  const auto time_of = [](const Shared& algorithm, std::int64_t gpus, const libraries::LibrarySpec& with) {
    return run(example_equipped(gpus), algorithm, 4 * example_chunk, with).end.us();
  };
  const Shared ring = compiled("all_gather_ring", "{}", {1, 2});
  EXPECT_NEAR(time_of(ring, 2, library) - time_of(ring, 2, example_channels()), 7, 1e-6);
  msccl::ThreadBlock block;
  block.steps = {local(Op::copy, 0, 0)};
  const auto alone = std::make_shared<const msccl::Algorithm>(on_one_gpu({block}));
  EXPECT_EQ(time_of(alone, 1, library), time_of(alone, 1, example_channels()));
}

TEST(AlgorithmProgram, SumsIntoOnePlaceAreOnePass) {
  libraries::LibrarySpec library = example_channels();
  library.channels->local_overhead = Time::from_us(3);
  msccl::ThreadBlock block;
  block.steps = {local(Op::reduce, 0, 3), local(Op::reduce, 1, 3), local(Op::reduce, 2, 3)};
  const auto fused = std::make_shared<const msccl::Algorithm>(on_one_gpu({block}));
  block.steps[1].has_dependents = true;  // other thread blocks may wait for the sum of the first two
  const auto split = std::make_shared<const msccl::Algorithm>(on_one_gpu({block}));
  const auto passes = [&](const Shared& algorithm) {
    std::uint64_t count = 0;
    const replay::Result result = run(example_equipped(1), algorithm, 4 * example_chunk, library);
    for (const program::PhaseTotal& phase : result.operations[0].phases) {
      if (phase.name.starts_with("reduce")) count += phase.count;
    }
    return count;
  };
  EXPECT_EQ(passes(fused), 1U);
  EXPECT_EQ(passes(split), 2U);
}

TEST(AlgorithmProgram, ALaterFlagStandsForAnEarlierStep) {
  msccl::ThreadBlock first, second;
  first.steps = {local(Op::copy, 0, 0), local(Op::copy, 1, 1)};
  first.steps[1].has_dependents = true;
  second.steps = {local(Op::copy, 2, 2)};
  second.steps[0].depends_block = 0;
  second.steps[0].depends_step = 0;
  const auto algorithm = std::make_shared<const msccl::Algorithm>(on_one_gpu({first, second}));
  EXPECT_EQ(run(example_equipped(1), algorithm, 4 * example_chunk, example_channels(2)).deadlock, "");
}

codec::CodecSpec codec_of(double operations) {
  config::Diagnostics diagnostics;
  const auto root =
      config::load_text("codec.yaml", codec::codec_sources + codec::example_codec(4, operations), {}, diagnostics);
  return *config::parse<codec::CodecSpec>(*root, diagnostics);
}

replay::Result run_encoded(double operations, std::int64_t ranks, Time prepare = {}, std::vector<double> ratios = {}) {
  const libraries::EquippedSystem system = example_equipped(ranks);
  program::Program program(static_cast<Rank>(ranks));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  config::Diagnostics diagnostics;
  MscclSpec spec;
  const std::size_t chunks = std::max<std::size_t>(1, ratios.size());
  spec.program =
      *config::load_text("t.yaml", fmt::format("broadcast_chain_encoded: {{chunks: {}}}", chunks), {}, diagnostics);
  spec.bytes = Bytes{example_chunk};
  spec.library = example_channels();
  spec.codec = codec_of(operations);
  spec.codec->ratios = std::move(ratios);
  spec.codec->compress.prepare = spec.codec->decompress.prepare = prepare;
  EXPECT_TRUE(append_msccl(build, spec, {}, diagnostics)) << diagnostics.str();
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  return replay::Replay(*machine, program).run();
}

// 1,600 operations (3,200 FLOP) per value take 3.2 ns on a CU of 1 TFLOP/s, so 25,600 values take 81.92 us. With fewer
// operations, the memory latency of each block would take longer than its arithmetic. Between the root's input and the
// last rank's output there are one encoding and one decoding, because the ranks between forward before they decode.
TEST(AlgorithmProgram, AThreadBlockCodesAtTheRateOfItsCu) {
  for (const std::int64_t ranks : {2, 4}) {
    const double fast = run_encoded(0, ranks).end.us();
    EXPECT_NEAR(run_encoded(3200, ranks).end.us() - run_encoded(1600, ranks).end.us(), 2 * 81.92, 0.001 * 163.84);
    EXPECT_NEAR(run_encoded(0, ranks, Time::from_us(7)).end.us() - fast, 2 * 7, 0.001);
  }
}

TEST(AlgorithmProgram, EncodedChunksAreSmallerByTheRatio) {
  EXPECT_EQ(run_encoded(100, 4).traffic.scale_up_bytes.value, 3 * example_chunk / 4);
  // Every chunk keeps its own ratio along the chain.
  const double sent = run_encoded(100, 4, {}, {2, 8, 4, 8}).traffic.scale_up_bytes.value;
  EXPECT_NEAR(sent, 3 * example_chunk / 4 * (1. / 2 + 1. / 8 + 1. / 4 + 1. / 8), 3 * 4);
}

// Returns an algorithm in which both ranks send `sends` chunks before they receive any.
Shared exchange(std::int32_t sends) {
  msccl::Algorithm made;
  made.collective = ir::Collective::custom;
  made.chunks = 8;
  for (const std::int32_t other : {1, 0}) {
    msccl::ThreadBlock block;
    block.send = block.recv = other;
    for (std::int32_t i = 0; i < sends; ++i) block.steps.push_back(local(Op::send, i, i));
    for (std::int32_t i = 0; i < sends; ++i) block.steps.push_back(local(Op::recv, i, i));
    made.gpus.push_back({.input_chunks = 8, .output_chunks = 8, .blocks = {block}});
  }
  return std::make_shared<const msccl::Algorithm>(std::move(made));
}

TEST(AlgorithmProgram, AFullConnectionHoldsItsSenderUp) {
  EXPECT_EQ(run(example_equipped(2), exchange(4), 8 * example_chunk).deadlock, "") << "a connection holds four calls";
  const std::string stuck = run(example_equipped(2), exchange(5), 8 * example_chunk).deadlock;
  EXPECT_NE(stuck.find("waits for flag algorithm.credit"), std::string::npos) << stuck;
}

// The proof uses the number of calls that the library's connections hold. With two calls, the default of the MSCCL
// runtime, the algorithm would deadlock at every size.
TEST(AlgorithmProgram, AFileIsProvedWithTheFifoOfItsLibrary) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "exchange.xml";
  std::ofstream(file) << msccl::to_xml(*exchange(4));
  const auto append_with_slots = [&](std::int64_t slots) {
    const libraries::EquippedSystem system = example_equipped(2);
    program::Program program(2);
    program.queues.resize(1);
    builder::Builder build{system, program, program.queues[0]};
    MscclSpec spec;
    spec.file = file;
    spec.bytes = Bytes{8 * example_chunk};
    spec.library = example_channels();
    spec.library->channels->simple.slots = slots;
    config::Diagnostics diagnostics;
    const bool appended = append_msccl(build, spec, {}, diagnostics);
    EXPECT_EQ(appended, diagnostics.ok());
    return diagnostics.str();
  };
  EXPECT_EQ(append_with_slots(4), "");
  EXPECT_NE(append_with_slots(3).find("deadlock at every size"), std::string::npos);
  EXPECT_EQ(append_with_slots(4), "");
}

}  // namespace
}  // namespace moire::collective
