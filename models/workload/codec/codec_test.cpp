#include <fmt/format.h>
#include <gmock/gmock.h>

#include "models/workload/codec/kernels.hpp"
#include "models/workload/operators/registry.hpp"
#include "tests/support/example_codec.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::codec {
namespace {

using libraries::EquippedSystem;
using libraries::example_equipped;
using ::testing::HasSubstr;

CodecSpec read(const std::string& text, std::string& errors) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("codec.yaml", codec_sources + text, {}, diagnostics);
  std::optional<CodecSpec> spec;
  if (root) spec = config::parse<CodecSpec>(*root, diagnostics);
  errors = diagnostics.str();
  return spec.value_or(CodecSpec{});
}

TEST(CodecSpec, TellsWhatDoesNotGoTogether) {
  const auto errors = [](const std::string& from, const std::string& to) {
    std::string text = example_codec(4), told;
    const std::size_t at = text.find(from);
    text.replace(at, from.size(), to);
    read(text, told);
    return told;
  };
  std::string told;
  EXPECT_EQ(read(example_codec(4), told).ratio, 4);
  EXPECT_EQ(told, "");
  EXPECT_THAT(errors("error_bound: {value: 0.001, source: s}\n", ""), HasSubstr("write error_bound"));
  EXPECT_THAT(errors("fixed_rate", "lossless"), HasSubstr("leave it out"));
  EXPECT_THAT(errors("name", "ratio_spread: {value: 0.1, source: s}\nname"),
              HasSubstr("a fixed-rate codec has one ratio"));
  EXPECT_THAT(errors("value: 4, source: s}", "value: 0, source: s}"), HasSubstr("codec.yaml:"));
}

TEST(CodecSpec, CountsLieBetweenTheirEntries) {
  StageSpec stage;
  stage.operations = {100};
  EXPECT_EQ(stage.operations_at(8), 100) << "one entry holds for all codes";
  EXPECT_EQ(stage.l2_adds_at(8), 0);
  stage.bits = {4, 8, 16};
  stage.operations = {100, 200, 600};
  stage.l2_adds = {1, 2, 4};
  EXPECT_EQ(stage.operations_at(2), 100);
  EXPECT_EQ(stage.operations_at(6), 150);
  EXPECT_EQ(stage.operations_at(8), 200);
  EXPECT_EQ(stage.operations_at(32), 600);
  EXPECT_EQ(stage.l2_adds_at(12), 3);
  std::string told;
  std::string text = example_codec(4);
  text.replace(text.find("operations: {value: [0]"), 23,
               "bits: {value: [8, 4], source: s}, operations: {value: [1, 2]");
  read(text, told);
  EXPECT_THAT(told, HasSubstr("sort the entries"));
  text.replace(text.find("[1, 2]"), 6, "[1]");
  read(text, told);
  EXPECT_THAT(told, HasSubstr("one entry for each entry of bits"));
}

TEST(CodecSpec, RatiosAreDrawnOrRecorded) {
  CodecSpec codec;
  codec.ratio = 1.5;
  codec.ratio_spread = 0.2;
  double least = 2, most = 1, sum = 0;
  for (int chunk = 0; chunk < 1000; ++chunk) {
    const double ratio = codec.ratio_of(chunk);
    EXPECT_EQ(ratio, codec.ratio_of(chunk));
    least = std::min(least, ratio);
    most = std::max(most, ratio);
    sum += ratio;
  }
  EXPECT_GE(least, 1.2);
  EXPECT_LE(most, 1.8);
  EXPECT_LT(least, 1.21);
  EXPECT_GT(most, 1.79);
  EXPECT_NEAR(sum / 1000, 1.5, 0.02);
  CodecSpec other = codec;
  other.seed = 2;
  EXPECT_NE(other.ratio_of(0), codec.ratio_of(0));
  codec.ratios = {1, 2, 3};
  EXPECT_EQ(codec.ratio_of(4), 2);
}

TEST(CodecSpec, TheMeanRatioIsThatOfAllBytes) {
  CodecSpec codec;
  codec.ratio = 2;
  EXPECT_EQ(codec.mean_ratio(), 2);
  codec.ratio_spread = 0.5;
  double compressed = 0;
  for (int chunk = 0; chunk < 100'000; ++chunk) compressed += 1 / codec.ratio_of(chunk);
  EXPECT_NEAR(codec.mean_ratio(), 100'000 / compressed, 0.005);
  codec.ratios = {1, 4};
  EXPECT_EQ(codec.mean_ratio(), 1.6);
}

TEST(CodecInside, TakesAsManyWorkgroupsAsTheThreadsHold) {
  std::string told;
  CodecSpec codec = read(example_codec(4, 100, 2), told);
  codec.compress.lds = Bytes{1024};
  codec.compress.prepare = Time::from_us(3);
  const machine::GpuSpec gpu = example_equipped(1).node.gpu;
  const Inside many = inside(codec, Work::compress, 4, gpu, {512, 16, Bytes{2048}, 1});
  EXPECT_EQ(many.unit, 4 * 2048);
  EXPECT_EQ(many.resources.threads, 512);
  EXPECT_EQ(many.resources.registers_per_thread, 32);
  EXPECT_EQ(many.resources.lds.value, 4096);
  EXPECT_EQ(many.prepare.us(), 3);
  const Inside one = inside(codec, Work::compress, 4, gpu, {64, 64, Bytes{}, 1});
  EXPECT_EQ(one.unit, 2048) << "at least one workgroup of the codec";
  EXPECT_EQ(one.resources.threads, 128);
  EXPECT_EQ(one.resources.registers_per_thread, 64);
}

TEST(CodecSpec, ErrorsAddUp) {
  CodecSpec codec;
  EXPECT_EQ(codec.error_after(3), 0);
  codec.error_bound = 0.01;
  EXPECT_NEAR(codec.error_after(1), 0.01, 1e-15);
  EXPECT_NEAR(codec.error_after(3), 0.030301, 1e-12);
}

Time time_of_queues(const EquippedSystem& system, const std::string& queues) {
  config::Diagnostics diagnostics;
  const auto root =
      config::load_text("t.yaml", codec_sources + fmt::format("queues: {{{}}}\n", queues), {}, diagnostics);
  program::WgTraceFiles traces;
  const auto built = operators::build_program(*root, system, traces, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  return built.program ? replay::run(system, *built.program).end : Time{};
}
Time time_of(const EquippedSystem& system, const std::string& text) {
  return time_of_queues(system, fmt::format("main: [{{{}}}]", text));
}

// A value takes 400 operations (800 FLOP), which take 100 ps on 8 CUs of 1 TFLOP/s each.
TEST(CodecKernels, ArithmeticOfAllCusBoundsThem) {
  EquippedSystem system = example_equipped(1);
  const std::string codec = fmt::format("codec: {}", flow(example_codec(4, 400, 0)));
  const double values = 1 << 22;
  const double taken = time_of(system, fmt::format("compress: {{bytes: 16 MiB, {}}}", codec)).seconds();
  EXPECT_NEAR(taken, values * 400 * 2 / 8e12, 0.02 * taken);
  system.node.gpu.compute.vector_fp32 = {16e12};
  EXPECT_NEAR(time_of(system, fmt::format("compress: {{bytes: 16 MiB, {}}}", codec)).seconds(), taken / 2,
              0.02 * taken);
}

// Rounds of workgroups that fill the CUs, a last round that does not, and pauses longer than a round.
TEST(CodecKernels, TheEstimateForChoicesIsCloseToTheSimulation) {
  const EquippedSystem system = example_equipped(1);
  for (const double operations : {5., 400.}) {
    for (const double cycles : {0., 5., 50.}) {
      const std::string text = example_codec(4, operations, cycles);
      std::string told;
      const CodecSpec codec = read(text, told);
      for (const double bytes : {1., 2048., 65536., 300'000., 524'288., 1'100'000., 16'777'216.}) {
        const double taken =
            time_of(system, fmt::format("compress: {{bytes: {:.0f} B, codec: {}}}", bytes, flow(text))).seconds();
        EXPECT_NEAR(seconds(codec, Work::compress, {bytes, 4}, system.node.gpu), taken, 0.2 * taken)
            << bytes << " B, " << operations << " operations, " << cycles << " cycles";
      }
    }
  }
}

// One workgroup more than the GPU holds fills a gap between others if arithmetic keeps the CUs busy. If a workgroup
// alone takes as long as all of a CU, it takes a round of its own.
TEST(CodecKernels, OneWorkgroupMoreThanARoundIsNoRoundIfTheCusAreBusy) {
  const EquippedSystem system = example_equipped(1);
  const machine::GpuSpec& gpu = system.node.gpu;
  const double round = 2048. * static_cast<double>(builder::resident_workgroups(gpu, {128, 32, Bytes{}, 1}));
  const auto taken = [&](double bytes, double operations, double cycles) {
    const std::string codec = flow(example_codec(4, operations, cycles));
    return time_of(system, fmt::format("decompress: {{bytes: {:.0f} B, codec: {}}}", bytes, codec)).seconds();
  };
  const double busy = taken(round, 400, 0), last = taken(round + 2048, 400, 0);
  EXPECT_GT(last, busy);
  EXPECT_LT(last, 1.2 * busy);
  EXPECT_NEAR(taken(1.5 * round, 400, 0), 1.5 * busy, 0.05 * busy);
  EXPECT_NEAR(taken(round + 2048, 5, 1000), 2 * taken(round, 5, 1000), 0.05 * last)
      << "a thread's operations take longest";
}

TEST(CodecKernels, ArithmeticBeginsBehindTheFirstLoad) {
  EquippedSystem system = example_equipped(1);
  const auto taken = [&] {
    return time_of(system, fmt::format("compress: {{bytes: 16 MiB, codec: {}}}", flow(example_codec(4, 400))))
        .seconds();
  };
  system.node.gpu.hbm.unloaded_latency = Time::from_ns(100);
  const double before = taken();
  system.node.gpu.hbm.unloaded_latency = Time::from_ns(300);
  EXPECT_NEAR(taken() - before, 200e-9, 30e-9);
}

// Another kernel holds half of the CUs for three times as long as the call takes alone. The other half of the CUs does
// the whole call in twice this time, because no block waits for a held place.
TEST(CodecKernels, PlacesThatOthersHoldGetNoBlocks) {
  const EquippedSystem system = example_equipped(1);
  const std::string work = fmt::format("{{compress: {{bytes: 16 MiB, codec: {}}}}}", flow(example_codec(4, 400, 0)));
  const double alone = time_of_queues(system, fmt::format("main: [{}]", work)).us();
  const auto beside = [&](double held_us) {
    return time_of_queues(system, fmt::format("hold: [{{kernel: {{workgroups: 4, threads: 1024, steps: [{{pause: "
                                              "{{time: {:.0f} ns}}}}]}}}}], main: [{}]",
                                              held_us * 1e3, work))
        .us();
  };
  EXPECT_NEAR(beside(3 * alone), 3 * alone, 0.02 * alone);
  EXPECT_NEAR(beside(alone), 1.5 * alone, 0.05 * alone) << "half of the work is done when the places become free";
}

// 8 blocks run on the 8 CUs, one on each. 9 blocks take twice as long, because one CU gets two of them.
TEST(CodecKernels, FewWorkgroupsAreSpreadOverTheCus) {
  const EquippedSystem system = example_equipped(1);
  const auto taken = [&](int blocks) {
    return time_of(system,
                   fmt::format("compress: {{bytes: {} B, codec: {}}}", blocks * 2048, flow(example_codec(4, 4000, 0))))
        .us();
  };
  const double one = 512 * 8e-3;  // us: 512 values of 4,000 operations (8,000 FLOP) on a CU of 1 TFLOP/s
  EXPECT_NEAR(taken(8) - taken(1), 0, 0.05);
  EXPECT_NEAR(taken(9) - taken(8), one, 0.05);
  EXPECT_NEAR(taken(16) - taken(8), one, 0.05);
  EXPECT_NEAR(taken(32) - taken(8), 3 * one, 0.1);
}

// Each value makes half an addition to a sector of 32 B, so 64 MiB of values cause 268 MB of additions. With add_cost
// 3, an added byte takes as much cache bandwidth as three read bytes.
TEST(CodecKernels, AdditionsTakeTheCache) {
  EquippedSystem system = example_equipped(1);
  std::string codec = example_codec(4);
  codec.replace(codec.find("operations:"), 0, "l2_adds: {value: [0.5], source: s}, ");
  const std::string work = fmt::format("compress: {{bytes: 64 MiB, codec: {}}}", flow(codec));
  system.node.gpu.l2.bandwidth = {0.5e12};
  system.node.gpu.l2.add_cost = 3;
  const double plain = 64 * 1048576.;
  const double taken = time_of(system, work).seconds();
  EXPECT_NEAR(taken, (plain + plain / 4 * 0.5 * 32 * 3 + plain / 4) / 0.5e12, 0.05 * taken);
  system.node.gpu.l2.add_cost = 1;
  const double even = time_of(system, work).seconds();
  EXPECT_LT(even, 0.6 * taken);
  system.node.gpu.l2.slices = 4096;
  const double busiest = system.node.gpu.l2.busiest_slice(plain / 4 / 128);
  EXPECT_GT(busiest, 1.5);
  const double slice = plain / 4 * 0.5 * 32 * busiest / 0.5e12;
  EXPECT_GT(slice, 1.2 * even);
  EXPECT_NEAR(time_of(system, work).seconds(), slice, 0.05 * slice) << "all other slices wait for the busiest one";
}

TEST(CodecKernels, SmallKernelsComeBefore) {
  const EquippedSystem system = example_equipped(1);
  std::string codec = example_codec(4);
  const auto taken = [&](const char* op) {
    return time_of(system, fmt::format("{}: {{bytes: 1 MiB, codec: {}}}", op, flow(codec)));
  };
  const Time without = taken("compress");
  codec.replace(codec.find("operations:"), 0, "prepare: {value: 30 us, source: s}, ");
  const Time gap = system.node.gpu.host.queue_gap;
  EXPECT_GE(taken("compress"), without + Time::from_us(30));
  EXPECT_LE(taken("compress"), without + Time::from_us(30) + gap + Time::from_us(2));
}

// Every place of the GPU fetches the kernel's instructions once, so many blocks take no longer for it than one. The
// example has the same stage for both directions, and a kernel that does both fetches both.
TEST(CodecKernels, FetchTheirInstructionsOnce) {
  const EquippedSystem system = example_equipped(1);
  const auto longer = [&](const char* op, const char* bytes) {
    std::string codec = example_codec(4);
    const auto taken = [&] {
      return time_of(system, fmt::format("{}: {{bytes: {}, codec: {}}}", op, bytes, flow(codec))).us();
    };
    const double without = taken();
    for (std::size_t at = 0; (at = codec.find("operations:", at)) != std::string::npos; at += 40)
      codec.insert(at, "start_up: {value: 30 us, source: s}, ");
    return taken() - without;
  };
  EXPECT_NEAR(longer("compress", "1 KiB"), 30, 1e-6);
  EXPECT_NEAR(longer("compress", "16 MiB"), 30, 0.5);
  EXPECT_NEAR(longer("decompress_reduce_compress", "1 KiB"), 60, 1e-6);
}

// A block (2 KiB) gives each thread four values of 100 operations; an operation takes 5 clocks of 1 ns.
TEST(CodecKernels, AThreadsOperationsFollowEachOther) {
  const EquippedSystem system = example_equipped(1);
  const auto taken = [&](const char* bytes) {
    return time_of(system, fmt::format("compress: {{bytes: {}, codec: {}}}", bytes, flow(example_codec(4, 100, 5))))
        .us();
  };
  EXPECT_NEAR(taken("1 B"), 2, 0.6) << "the tolerance covers the latency of the memory";
  EXPECT_EQ(taken("1 B"), taken("2 KiB"));
  EXPECT_GT(taken("4 MiB"), 10 * taken("2 KiB"));
}

TEST(CodecKernels, WithoutOperationsTheyMoveBytes) {
  const EquippedSystem system = example_equipped(1);
  const auto taken = [&](const char* op) {
    return time_of(system, fmt::format("{}: {{bytes: 64 MiB, codec: {}}}", op, flow(example_codec(4, 0, 0)))).seconds();
  };
  // compress reads 64 MiB and writes 16 MiB, decompress the reverse. The memory has 1 TB/s.
  EXPECT_GT(taken("compress"), 1.25 * 64 * 1048576 / 1e12);
  EXPECT_LT(taken("decompress"), taken("decompress_reduce_compress") * 1.001);
}

// Checks the bytes and the FLOP of one block. A kernel that decompresses, adds and compresses keeps intermediate values
// in registers, so it neither stores nor loads them.
TEST(CodecKernels, AStepOfAReductionReadsAndStoresWhatItHasTo) {
  std::string told;
  const CodecSpec codec = read(example_codec(4, 10), told);  // blocks of 2 KiB, that is 512 values
  const EquippedSystem system = example_equipped(1);
  program::Program program(1);
  program::Queue& queue = program.queues.emplace_back();
  const builder::Builder build{system, program, queue};
  const auto expect = [&](Work work, double read, double write, double flop) {
    const program::PhaseShape shape = make_kernels(build, codec, work, {{65536, 4}}, "k").back().shapes.at(0);
    // One simulated workgroup represents several workgroups of the codec, which have 128 threads each.
    const double blocks = static_cast<double>(shape.threads) / 128;
    EXPECT_EQ(shape.read, blocks * read) << shape.name;
    EXPECT_EQ(shape.write, blocks * write) << shape.name;
    EXPECT_EQ(shape.flop, blocks * flop) << shape.name;
  };
  const double coding = 512 * 10 * 2;
  expect(Work::compress, 2048, 512, coding);
  expect(Work::decompress, 512, 2048, coding);
  expect(Work::decompress_reduce, 512 + 2048, 2048, coding + 512);
  expect(Work::decompress_reduce_compress, 512 + 2048, 512, 2 * coding + 512);
}

TEST(CodecKernels, PartsOfAnOperationTakeAsLongOneByOne) {
  const EquippedSystem system = example_equipped(2);
  const std::string codec = flow(example_codec(4, 100, 5));
  const Time one = time_of(system, fmt::format("compress: {{bytes: 64 MiB, codec: {}}}", codec));
  const Time four = time_of(system, fmt::format("compress: {{bytes: 64 MiB, chunks: 4, codec: {}}}", codec));
  EXPECT_GE(four, one);
  EXPECT_LT(four.seconds(), one.seconds() * 1.1);
}

// Returns a system whose GPUs have a decompression engine. For a buffer of at most 4 MB, the engine takes 4 us plus the
// time of the bytes at 100 GB/s.
EquippedSystem with_engine(std::int64_t gpus = 1) {
  EquippedSystem system = example_equipped(gpus);
  system.node.gpu.decompressor = {.engines = 1,
                                  .bandwidth = BytesPerSecond{100e9},
                                  .largest = Bytes{4e6},
                                  .command = Time::from_us(4),
                                  .formats = {"lz4"},
                                  .bytes_in_flight = Bytes{400e3}};
  return system;
}

std::string on_engine(const std::string& format = "lz4") {
  return flow(example_codec(4, 2000) + "format: " + format + "\ndecompress_on: engine\n");
}

TEST(DecompressionEngine, TakesItsCommandAndItsBytes) {
  const EquippedSystem system = with_engine();
  EXPECT_EQ(time_of(system, fmt::format("decompress: {{bytes: 4 MB, codec: {}}}", on_engine())), Time::from_us(4 + 40));
  EXPECT_EQ(time_of(system, fmt::format("decompress: {{bytes: 8 MB, chunks: 4, codec: {}}}", on_engine())),
            Time::from_us(4 * (4 + 20)))
      << "the engine takes the chunks one after the other";
  EquippedSystem slow = system;
  slow.node.gpu.hbm.bandwidth = {50e9};
  EXPECT_GE(time_of(slow, fmt::format("decompress: {{bytes: 4 MB, codec: {}}}", on_engine())), Time::from_us(4 + 99))
      << "the memory serves reads of a quarter of the bytes and writes of all bytes";
}

TEST(DecompressionEngine, TakesNoComputeUnits) {
  const auto end = [](const std::string& codec) {
    config::Diagnostics diagnostics;
    const auto root =
        config::load_text("t.yaml",
                          codec_sources + fmt::format("queues: {{a: [{{decompress: {{bytes: 4 MB, codec: {}}}}}], "
                                                      "b: [{{compress: {{bytes: 8 MiB, codec: {}}}}}]}}\n",
                                                      codec, flow(example_codec(4, 2000))),
                          {}, diagnostics);
    const EquippedSystem system = with_engine();
    program::WgTraceFiles traces;
    const auto built = operators::build_program(*root, system, traces, diagnostics);
    EXPECT_EQ(diagnostics.str(), "");
    return replay::run(system, *built.program).end;
  };
  const Time alone =
      time_of(with_engine(), fmt::format("compress: {{bytes: 8 MiB, codec: {}}}", flow(example_codec(4, 2000))));
  EXPECT_LT(end(on_engine()).seconds(), alone.seconds() * 1.02) << "beside a kernel of all CUs";
  EXPECT_GT(end(flow(example_codec(4, 2000))).seconds(), alone.seconds() * 1.3) << "two kernels share the CUs";
}

TEST(DecompressionEngine, RefusesWhatItCannotTake) {
  const auto errors = [](const EquippedSystem& system, const std::string& text) {
    config::Diagnostics diagnostics;
    const auto root = config::load_text("t.yaml", codec_sources + fmt::format("queues:\n  main:\n    - {{{}}}\n", text),
                                        {}, diagnostics);
    program::WgTraceFiles traces;
    operators::build_program(*root, system, traces, diagnostics);
    return diagnostics.str();
  };
  const std::string of_4_mb = fmt::format("decompress: {{bytes: 4 MB, codec: {}}}", on_engine());
  EXPECT_EQ(errors(with_engine(), of_4_mb), "");
  EXPECT_THAT(errors(example_equipped(1), of_4_mb), HasSubstr("t.yaml:4:"));
  EXPECT_THAT(errors(example_equipped(1), of_4_mb), HasSubstr("'example' has no decompression engine"));
  EXPECT_THAT(errors(with_engine(), fmt::format("decompress: {{bytes: 4.1 MB, codec: {}}}", on_engine())),
              HasSubstr("a chunk of 4100000 B is too large"));
  EXPECT_THAT(errors(with_engine(), fmt::format("decompress: {{bytes: 1 MB, codec: {}}}", on_engine("deflate"))),
              HasSubstr("does not read 'deflate'; write decompress_on: kernel; it reads lz4"));
  EXPECT_THAT(errors(with_engine(), fmt::format("decompress: {{bytes: 1 MB, codec: {}}}",
                                                flow(example_codec(4) + "decompress_on: engine\n"))),
              HasSubstr("which has no format"));
  EXPECT_THAT(
      errors(with_engine(4),
             fmt::format("chunked_broadcast: {{bytes: 64 MB, chunks: 2, compression: root, codec: {}}}", on_engine())),
      HasSubstr("a chunk of 32000000 B is too large"));
  EXPECT_EQ(errors(with_engine(4),
                   fmt::format("chunked_broadcast: {{bytes: 64 MB, compression: root, codec: {}}}", on_engine())),
            "")
      << "the operator chooses chunks that are small enough for the engine";
}

}  // namespace
}  // namespace moire::codec
