#include "models/algorithms/mscclpp/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/example_plan.hpp"

namespace moire::mscclpp {
namespace {

using ::testing::HasSubstr;

using Ops = std::vector<std::string>;

std::string errors_of(const Example& example) {
  config::Diagnostics diagnostics;
  const std::string right = check_plan_text("p.json", example.text(), diagnostics);
  EXPECT_EQ(right.empty(), !diagnostics.ok());
  return diagnostics.str();
}

Ops enter() { return {signal(), wait(), nop()}; }
Ops leave() { return {nop(), signal(), wait()}; }
Ops operator+(Ops a, const Ops& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Each of two GPUs puts its part into the output of the other GPU.
Example all_gather(const Ops& before, const Ops& after) {
  return Example::of_two([&](int gpu, int) {
    return std::vector<Ops>{before + Ops{move("put", {at("o", gpu)}, {peers(1, gpu)})} + after};
  });
}

TEST(Check, AnAllGatherByPutsIsRight) {
  config::Diagnostics diagnostics;
  EXPECT_EQ(check_plan_text("p.json", all_gather(enter(), leave()).text(), diagnostics),
            "MSCCL++ plan, allgather, 2 GPUs, 2 thread blocks, 14 operations run, the result is right");
  EXPECT_EQ(diagnostics.str(), "");
}

TEST(Check, WhoPutsBeforeTheOtherIsThereRaces) {
  EXPECT_THAT(errors_of(all_gather({}, leave())),
              HasSubstr("race: gpu 0 tb 0 op 0 (put) writes gpu 1 chunk 0, which may not have begun its call"));
}

TEST(Check, ASignalWithoutANopIsGivenBeforeAllThreadsHavePut) {
  EXPECT_THAT(errors_of(all_gather(enter(), {signal(), wait()})),
              HasSubstr("race: the call of gpu 1 may end before what gpu 0 tb 0 op 3 (put) writes to gpu 1 chunk 0 has "
                        "arrived; add a signal after it"));
}

TEST(Check, RelaxedSignalsDoNotOrderMemory) {
  const Ops relaxed = {nop(), on_channel("rlxsignal", 0), on_channel("rlxwait", 0)};
  EXPECT_THAT(errors_of(all_gather(enter(), relaxed)), HasSubstr("only relaxed signals follow it"));
  // Relaxed signals are enough to show that the call has begun.
  EXPECT_EQ(errors_of(all_gather({on_channel("rlxsignal", 0), on_channel("rlxwait", 0), nop()}, leave())), "");
}

TEST(Check, AWrongChunkIsNamedWithTheOperationThatWroteIt) {
  const Example example = Example::of_two(
      [](int, int) { return std::vector<Ops>{enter() + Ops{move("put", {at("o", 0)}, {peers(1, 1)})} + leave()}; });
  const std::string errors = errors_of(example);
  EXPECT_THAT(errors, HasSubstr("wrong result: output chunk 1 of gpu 0 is nothing, written by gpu 1 tb 0 op 3 (put), "
                                "not gpu 1 chunk 1"));
  EXPECT_THAT(errors, HasSubstr("gpu 1 tb 0 op 3 (put) reads gpu 1 chunk 0, which no operation wrote"));
}

TEST(Check, AChunkThatNobodySendsIsMissing) {
  Example example = all_gather(enter(), leave());
  example.gpus[0][0].erase(example.gpus[0][0].begin() + 3);
  EXPECT_THAT(errors_of(example), HasSubstr("wrong result: output chunk 0 of gpu 1 is nothing, not gpu 0 chunk 0"));
}

TEST(Check, SignalsAndWaitsAreAsMany) {
  Example example = all_gather(enter(), leave());
  example.gpus[0][0].pop_back();
  EXPECT_THAT(errors_of(example), HasSubstr("gpu 1 tb 0 op 5 (signal) signals gpu 0 2 times on memory channel 0, but "
                                            "that gpu waits 1 times for it; write one wait for each signal"));
}

TEST(Check, WhoWaitsForWhomIsTold) {
  const Example example = all_gather({wait(), signal(), nop()}, leave());
  const std::string errors = errors_of(example);
  EXPECT_THAT(errors,
              HasSubstr("deadlock: gpu 0 tb 0 op 0 (wait) waits for signal 1 of gpu 1 on memory channel 0: gpu 1 "
                        "tb 0 would signal at op 1, but waits at gpu 1 tb 0 op 0 (wait)"));
  EXPECT_THAT(errors, HasSubstr("deadlock: gpu 1 tb 0 op 0 (wait)"));
}

TEST(Check, DataBehindAWaitNeedsANop) {
  const Example example = all_gather({signal(), wait()}, leave());
  EXPECT_THAT(errors_of(example), HasSubstr("may not have begun its call"));
}

TEST(Check, OrderIsKeptByChannel) {
  // Block 1 of each GPU waits on channel 1 and then reads what block 0 of the peer wrote. In the right plan, block 0 of
  // the peer signals on channel 1. In the wrong plan, block 1 of the peer signals on it instead.
  const auto with = [](int channel_of_signal) {
    Example example = Example::of_two([&](int gpu, int) {
      const Ops copy = {move("copy", {at("i", 0)}, {at("s", 0)}), nop(), signal(channel_of_signal),
                        signal(1 - channel_of_signal)};
      return std::vector<Ops>{copy + Ops{wait(0)}, Ops{wait(1), nop(), move("get", {peers(2, 0)}, {at("o", 1 - gpu)}),
                                                       nop(), signal(0), wait(0)}};
    });
    example.gpus[0][0].push_back(nop());
    return example;
  };
  EXPECT_EQ(errors_of(with(0)), "");
  Example wrong = with(0);
  for (auto& gpu : wrong.gpus) {
    gpu[0].erase(gpu[0].begin() + 3);          // removes the signal on channel 1
    gpu[1].insert(gpu[1].begin(), signal(1));  // and adds the signal to the other block
  }
  EXPECT_THAT(errors_of(wrong),
              HasSubstr("race: gpu 0 tb 1 op 3 (get) reads gpu 1 scratch chunk 0, which gpu 1 tb 0 op 0 "
                        "(copy) writes; nothing orders the two"));
}

TEST(Check, OperationsOfABlockNeedANopBetweenThem) {
  const auto twice = [](const Ops& between, int second) {
    Example example;
    example.collective = "allreduce";
    example.input_chunks = 4;
    example.output_chunks = 4;
    example.scratch_chunks = 4;
    example.gpus = {{Ops{move("copy", {at("i", 0, 2)}, {at("s", 0, 2)})} + between +
                     Ops{move("copy", {at("s", second, 2)}, {at("s", second + 1, 2)})}}};
    return example;
  };
  EXPECT_THAT(errors_of(twice({}, 0)),
              HasSubstr("put a nop between them: threads of a block do not wait for each other"));
  // The source and the destination of the second copy overlap, so it is wrong even with a nop before it.
  EXPECT_THAT(errors_of(twice({nop()}, 0)),
              HasSubstr("op 2 (copy) reads gpu 0 scratch chunk 1, which gpu 0 tb 0 op 2 (copy) writes; nothing orders "
                        "the two; choose a source and a destination that do not overlap"));
}

TEST(Check, ThreadsFindTheirOwnBytesAgain) {
  // Both copies divide the same run of chunks among the threads in the same way, so every thread reads what it wrote.
  Example example;
  example.collective = "allreduce";
  example.in_place = false;
  example.output_chunks = 1;
  example.gpus = {{Ops{move("copy", {at("i", 0)}, {at("s", 0)}), move("copy", {at("s", 0)}, {at("o", 0)})}}};
  EXPECT_EQ(errors_of(example), "");
}

// Each of two GPUs puts its part into the output of the other GPU, through a port and by the operation `name`.
Example over_ports(const std::string& name) {
  return Example::of_two([&](int gpu, int) {
    return std::vector<Ops>{enter() + Ops{move(name, {at("o", gpu)}, {peers(1, gpu)}, over_port), wait(0, "port")}};
  });
}

TEST(Check, APutOverAPortReadsItsSourceUntilItIsFlushed) {
  EXPECT_EQ(errors_of(over_ports("pwsf")), "");
  EXPECT_THAT(
      errors_of(over_ports("pws")),
      HasSubstr("race: the call of gpu 0 may end, and its user overwrite gpu 0 chunk 0, while gpu 0 tb 0 op 3 (pws) "
                "still reads it; add a flush"));
  Example flushed = over_ports("pws");
  for (auto& gpu : flushed.gpus) gpu[0].push_back(on_channel("flush", 0, "port"));
  EXPECT_EQ(errors_of(flushed), "");
  // A put alone does not tell the peer that its data has arrived. A signal that follows the put on the same port does.
  const auto put_and_signal = [](bool signal_first) {
    return Example::of_two([&](int gpu, int) {
      const std::string put = move("put", {at("o", gpu)}, {peers(1, gpu)}, over_port);
      const Ops both = signal_first ? Ops{signal(0, "port"), put} : Ops{put, signal(0, "port")};
      return std::vector<Ops>{enter() + both + Ops{on_channel("flush", 0, "port"), wait(0, "port")}};
    });
  };
  EXPECT_EQ(errors_of(put_and_signal(false)), "");
  EXPECT_THAT(errors_of(put_and_signal(true)),
              HasSubstr("the call of gpu 1 may end before what gpu 0 tb 0 op 4 (put) writes to gpu 1 chunk 0"));
}

TEST(Check, PutWithSignalNeedsAPort) {
  EXPECT_THAT(
      errors_of(Example::of_two([](int gpu, int) {
        return std::vector<Ops>{Ops{
            move("pws", {at("o", gpu)}, {peers(1, gpu)}, R"("channel_type": "memory", "channel_ids": [0])"), wait()}};
      })),
      HasSubstr("gpu 0 tb 0 op 0 (pws) is not over a port channel: the runtime would copy and never signal"));
}

// All-reduce of two chunks with packets. Each of two GPUs computes the sum of one chunk.
Example packets() {
  Example example = Example::of_two([](int gpu, int peer) {
    return std::vector<Ops>{Ops{move("ppkt", {at("i", peer)}, {peers(2, 0)}),
                                move("respkt", {at("i", gpu), at("s", 0)}, {at("i", gpu), peers(2, 1)}),
                                move("upkt", {at("s", 1)}, {at("i", peer)})}};
  });
  example.collective = "allreduce";
  example.protocol = "LL";
  example.input_chunks = 2;
  return example;
}

TEST(Check, PacketsNeedNoSignals) { EXPECT_EQ(errors_of(packets()), ""); }

TEST(Check, PacketsThatNobodySendsAreWaitedForForever) {
  Example example = packets();
  example.gpus[1][0].erase(example.gpus[1][0].begin());
  const std::string errors = errors_of(example);
  EXPECT_THAT(
      errors,
      HasSubstr(
          "deadlock: gpu 0 tb 0 op 1 (respkt) waits for packets in gpu 0 scratch chunk 0, which no operation sent"));
  EXPECT_THAT(errors, HasSubstr("deadlock: gpu 1 tb 0 op 1 (upkt) waits for packets in gpu 1 scratch chunk 1"));
}

TEST(Check, PacketsSentTwiceCannotBeToldApart) {
  Example example = packets();
  example.gpus[0].push_back({move("ppkt", {at("i", 1)}, {peers(2, 0)})});
  EXPECT_THAT(errors_of(example),
              HasSubstr("race: gpu 0 tb 1 op 0 (ppkt) writes gpu 1 scratch chunk 0, which gpu 0 tb 0 op 0 "
                        "(ppkt) writes"));
}

TEST(Check, PacketsAndDataDoNotShareScratch) {
  Example example = packets();
  example.gpus[0].push_back({move("copy", {at("s", 1)}, {at("i", 1)})});
  EXPECT_THAT(errors_of(example),
              HasSubstr("uses the scratch of gpu 0 for data, but other operations use it for packets"));
}

// All-reduce of two chunks. Each of two GPUs lets the switch sum one chunk over both GPUs and store the sum on both.
Example switched(const Ops& after) {
  Example example = Example::of_two([&](int gpu, int) {
    return std::vector<Ops>{enter() + Ops{move("glres", {group(gpu)}, {group(gpu)}, over_switch)} + after};
  });
  example.collective = "allreduce";
  example.input_chunks = 2;
  return example;
}

TEST(Check, TheSwitchReducesIntoAllBuffers) {
  EXPECT_EQ(errors_of(switched(leave())), "");
  EXPECT_THAT(errors_of(switched({})),
              HasSubstr("the call of gpu 1 may end before what gpu 0 tb 0 op 3 (glres) writes to gpu "
                        "1 chunk 0 has arrived"));
  Example both = switched(leave());
  both.gpus[1][0][3] = both.gpus[0][0][3];
  EXPECT_THAT(errors_of(both),
              HasSubstr("(glres) reads gpu 0 chunk 0, which gpu 1 tb 0 op 3 (glres) writes; nothing orders"));
}

TEST(Check, BlocksThatShareAnOperationMeetAtBarriers) {
  const auto shared = [](const Ops& around) {
    return Example::of_two([&](int gpu, int) {
      std::vector<Ops> blocks;
      for (int b = 0; b < 2; ++b) {
        const Ops put = around + Ops{move("put", {at("o", gpu)}, {peers(1, gpu)}, part(b, 2))} + around;
        blocks.push_back(b == 0 ? enter() + put + leave() : put);
      }
      return blocks;
    });
  };
  EXPECT_EQ(errors_of(shared({barrier(2)})), "");
  const std::string errors = errors_of(shared({}));
  EXPECT_THAT(errors, HasSubstr("gpu 0 tb 1 op 0 (put) writes gpu 1 chunk 0, which may not have begun its call"));
  EXPECT_THAT(errors, HasSubstr("the call of gpu 1 may end before what gpu 0 tb 1 op 0 (put) writes"));
  EXPECT_THAT(errors_of(shared({barrier(3)})), HasSubstr("waits for 3 thread blocks at barrier 0, but 2 use it"));
}

TEST(Check, BarriersThatCrossDeadlock) {
  Example example;
  example.collective = "custom";
  example.gpus = {{{barrier(2, 0), barrier(2, 1)}, {barrier(2, 1), barrier(2, 0)}}};
  const std::string errors = errors_of(example);
  EXPECT_THAT(
      errors,
      HasSubstr("deadlock: gpu 0 tb 0 op 0 (barrier) waits at barrier 0, which 1 of 2 thread blocks have reached"));
  EXPECT_THAT(errors, HasSubstr("deadlock: gpu 0 tb 1 op 0 (barrier) waits at barrier 1"));
}

// In rounds of a pipeline, one block fills a scratch buffer that has one slot, and another block empties it. The first
// block may fill `credits` slots before the other block empties one, so only one credit is right.
Example through_scratch(int credits) {
  constexpr std::uint64_t unit = 1 << 20;  // each of 64 scratch chunks has 1 MiB of the 64 MiB of scratch
  Example example;
  example.collective = "allreduce";
  example.in_place = false;
  example.input_chunks = 1;
  example.output_chunks = 1;
  example.scratch_chunks = 64;
  example.more = R"(, "reuse_resources": true)";
  example.semaphores = {credits, 0};
  example.gpus = {{{pipeline(unit, {semaphore("acquire", 0), nop(), move("copy", {at("i", 0)}, {at("s", 0)}), nop(),
                                    semaphore("release", 1)})},
                   {pipeline(unit, {semaphore("acquire", 1), nop(), move("copy", {at("s", 0)}, {at("o", 0)}), nop(),
                                    semaphore("release", 0)})}}};
  return example;
}

TEST(Check, RoundsOfAPipelineReuseScratchOnlyWithACredit) {
  EXPECT_EQ(errors_of(through_scratch(1)), "");
  EXPECT_THAT(errors_of(through_scratch(2)),
              HasSubstr("gpu 0 tb 0 op 0.2 (copy) writes gpu 0 scratch chunk 0, which gpu 0 tb 1 op 0.2 (copy) reads"));
  EXPECT_THAT(errors_of(through_scratch(2)),
              HasSubstr("(in messages above 1 MiB, whose chunks are larger than their scratch)"));
  // In messages of up to 1 MiB, a chunk takes one round, so its slot is not used again.
  Example small = through_scratch(2);
  small.more += R"(, "max_message_size": 1048576)";
  EXPECT_EQ(errors_of(small), "");
  EXPECT_THAT(errors_of(through_scratch(0)),
              HasSubstr("deadlock: gpu 0 tb 0 op 0.0 (sem_acquire) waits for semaphore 0, which was released 0 times"));
}

TEST(Check, SemaphoresAreLeftAsTheyWereFound) {
  Example example = through_scratch(1);
  example.gpus[0].push_back({semaphore("release", 0)});
  EXPECT_THAT(errors_of(example),
              HasSubstr("gpu 0 tb 0 op 0.0 (sem_acquire) uses semaphore 0, which is not released as often as it is "
                        "acquired, so that the next call would begin with another value"));
}

TEST(Check, LimitsOfTheRuntimeAreTold) {
  Example example = all_gather(enter(), leave());
  for (int i = 0; i < 58; ++i) example.gpus[0][0].insert(example.gpus[0][0].begin(), nop());
  EXPECT_THAT(errors_of(example), HasSubstr("gpu 0 tb 0 has 65 operations, but the runtime holds 64 per thread block"));
  Example many = all_gather(enter(), leave());
  many.gpus[0][0][0] = R"({"name": "signal", "channel_ids": [0,0,0,0,0,0,0,0,0], "channel_type": "memory"})";
  EXPECT_THAT(errors_of(many), HasSubstr("gpu 0 tb 0 op 0 (signal) uses 9 channels, but the runtime takes 8"));
}

TEST(Check, ChunksMustBeThere) {
  EXPECT_THAT(errors_of(Example::of_two(
                  [](int, int) { return std::vector<Ops>{{move("put", {at("o", 1, 2)}, {peers(1, 0, 2)})}}; })),
              HasSubstr("gpu 0 tb 0 op 0 (put) reads chunks 1 to 2 of the output of gpu 0, which has 2"));
  EXPECT_THAT(errors_of(Example::of_two(
                  [](int, int) { return std::vector<Ops>{{move("put", {at("o", 0, 2)}, {peers(1, 0, 1)})}}; })),
              HasSubstr("moves 2 chunks into 1"));
  Example one_sided = all_gather(enter(), leave());
  one_sided.collective = "custom";
  one_sided.in_place = false;
  one_sided.input_chunks = 0;
  for (auto& gpu : one_sided.gpus) gpu[0].insert(gpu[0].begin(), move("copy", {at("s", 0)}, {at("o", 0)}));
  EXPECT_THAT(errors_of(one_sided),
              HasSubstr("gpu 0 tb 0 op 0 (copy) reads gpu 0 scratch chunk 0, which no operation wrote"))
      << "a plan whose collective defines no result may leave out a buffer";
  Example odd = all_gather(enter(), leave());
  odd.input_chunks = 2;
  EXPECT_THAT(errors_of(odd), HasSubstr("allgather: there are 2 input and 2 output chunks for 2 gpus"));
}

TEST(Check, ACollectiveWithoutAStatedResultIsJudgedWithoutIt) {
  Example example = all_gather(enter(), leave());
  example.collective = "sendrecv";
  example.output_chunks = 2;
  example.input_chunks = 2;
  config::Diagnostics diagnostics;
  EXPECT_THAT(check_plan_text("p.json", example.text(), diagnostics), HasSubstr("the collective defines no result"));
}

TEST(Check, OfManyFaultsTheFirstAreTold) {
  Example example = all_gather(enter(), leave());
  auto& operations = example.gpus[0][0];
  for (int i = 0; i < 30; ++i) operations.insert(operations.begin(), move("copy", {at("s", 0)}, {at("o", 0)}));
  EXPECT_THAT(errors_of(example), HasSubstr("more errors; the first ones may be their cause"));
}

TEST(Check, WhatIsTooLargeIsNotRun) {
  Example example = all_gather(enter(), leave());
  example.scratch_chunks = 1 << 18;
  EXPECT_EQ(errors_of(example), "");
  example.gpus[0][0][3] = move("put", {at("o", 0)}, {peers(1, 0)}, part(0, 4096));
  EXPECT_THAT(errors_of(example), HasSubstr("the plan is too large to be checked"));
}

// Tests every operation that moves data without operands, with a source only and with a destination only. The checker
// must report errors and must not access absent operands.
TEST(Check, OperationsWithoutOperandsAreTold) {
  for (const char* const name :
       {"put",   "pws",  "pwsf", "get",   "copy",   "re",     "res",     "rre",   "rres",   "ppkt",
        "rppkt", "cpkt", "upkt", "repkt", "respkt", "recpkt", "recspkt", "glres", "gstore", "gstorepkt"}) {
    for (const std::string& more :
         {std::string(R"("channel_type": "memory")"), std::string(over_port), std::string(over_switch)}) {
      const Example bare = Example::of_two([&](int, int) {
        return std::vector<Ops>{{fmt::format(R"({{"name": "{}", {}}})", name, more), move(name, {}, {}, more),
                                 move(name, {at("i", 0)}, {}, more), move(name, {}, {at("o", 0)}, more)}};
      });
      EXPECT_NE(errors_of(bare), "") << name << " " << more;
    }
  }
}

}  // namespace
}  // namespace moire::mscclpp
