#include "sim/program/turn.hpp"

#include <gmock/gmock.h>

namespace moire::program {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Every rank puts `bytes(rank)` to rank + away, raises flag `index(rank)` there, then waits for its own flag
// `waits_for(rank)`.
class Neighbours final : public KernelBody {
 public:
  FlagBlock flags;
  Rank ranks = 0;
  Rank away = 1;
  std::function<double(Rank)> bytes = [](Rank) { return 1.; };
  std::function<std::uint32_t(Rank)> index = [](Rank) { return 0U; };
  std::function<std::uint32_t(Rank)> waits_for = [](Rank) { return 0U; };
  std::uint32_t length = 2;

  std::int64_t workgroups(Rank) const override { return 1; }
  bool phase(Rank rank, std::int64_t, std::uint32_t step, Phase& phase) const override {
    if (step % 2 == 0) {
      phase.kind = Phase::Kind::put;
      phase.peer = (rank + away) % ranks;
      phase.bytes = Bytes{bytes(rank)};
      phase.flag = flags.at(phase.peer, index(rank));
    } else {
      phase.kind = Phase::Kind::wait;
      phase.flag = flags.at(rank, waits_for(rank));
      phase.target = 1;
    }
    return step < length;
  }
};

struct Example {
  explicit Example(Rank ranks) : program(ranks) {
    body->ranks = ranks;
    body->flags = program.add_flags({"arrived", ranks, {}});
    Kernel kernel;
    kernel.name = "neighbours";
    kernel.body = body;
    program.queues.push_back({.name = "main", .operations = {kernel}});
  }
  std::string why(Rank by, std::optional<Rank> block = {}) const { return keeps_from_turning(program, by, block); }

  std::shared_ptr<Neighbours> body = std::make_shared<Neighbours>();
  Program program;
};

TEST(Turn, RanksThatSendToTheNextOneTakeEachOthersPlaces) {
  const Example ring(6);
  EXPECT_THAT(ring.why(1), IsEmpty());
  EXPECT_THAT(ring.why(2), IsEmpty());
}

// Ranks send to rank + 3 of 6, so each ring of two ranks stays one if all ranks move inside blocks of 3, but not inside
// blocks of 2.
TEST(Turn, RanksMayMoveAroundInsideBlocks) {
  Example ring(6);
  ring.body->away = 3;
  EXPECT_THAT(ring.why(1, 3), IsEmpty());
  EXPECT_THAT(ring.why(2, 3), IsEmpty());
  EXPECT_THAT(ring.why(1, 2), HasSubstr("rank 1 does not do what rank 0 does with all ranks moved by 1 inside their "
                                        "blocks of 2"));
  ring.body->bytes = [](Rank rank) { return rank < 3 ? 1. : 2.; };
  EXPECT_THAT(ring.why(1, 3), IsEmpty());
  EXPECT_THAT(ring.why(1), HasSubstr("with all ranks moved by 1"));
}

TEST(Turn, FlagsMayHaveAnyNumberThatGoesWithTheRank) {
  Example ring(6);
  ring.body->index = [](Rank sender) { return sender; };
  ring.body->waits_for = [](Rank rank) { return (rank + 5) % 6; };
  EXPECT_THAT(ring.why(2), IsEmpty());
}

TEST(Turn, OneFlagHereIsOneFlagThere) {
  // Flag 1 of rank 3 is raised, but rank 3 waits for flag 0, which nobody raises.
  Example ring(6);
  ring.body->index = [](Rank sender) { return sender == 2 ? 1U : 0U; };
  EXPECT_THAT(ring.why(2), HasSubstr("'neighbours': rank"));
}

TEST(Turn, ARankThatSendsMoreKeepsFromIt) {
  Example ring(6);
  ring.body->bytes = [](Rank rank) { return rank % 2 == 0 ? 1. : 2.; };
  EXPECT_THAT(ring.why(1), HasSubstr("rank 1 does not do what rank 0 does with all ranks moved by 1"));
  EXPECT_THAT(ring.why(2), IsEmpty());
  ring.body->bytes = [](Rank rank) { return rank == 5 ? 2. : 1.; };
  EXPECT_THAT(ring.why(2), HasSubstr("rank 5 does not do what rank 3 does with all ranks moved by 2"));
}

TEST(Turn, OperationsOfSomeRanks) {
  Example ring(6);
  const auto on = [&](std::vector<bool> ranks) {
    std::get<Kernel>(ring.program.queues[0].operations[0]).ranks =
        std::make_shared<const std::vector<bool>>(std::move(ranks));
    return ring.why(2);
  };
  EXPECT_THAT(on({true, false, true, false, true, false}), IsEmpty());
  EXPECT_THAT(on({true, false, true, false, false, false}), HasSubstr("runs on rank 2 and not on rank 4"));
}

TEST(Turn, WhatIsTooLongToBeLookedAtDoesNotTurn) {
  Example ring(6);
  ring.body->length = 200'000;
  EXPECT_THAT(ring.why(2), HasSubstr("too many of them to compare"));
}

TEST(Turn, CopiesAndWaitsAreAskedOfAllRanks) {
  Program program(4);
  const FlagBlock flags = program.add_flags({"copied", 1, {}});
  const auto copy = [&](Bytes last) {
    program.queues = {
        {.name = "main",
         .operations = {
             Copy{"copy",
                  [=](Rank rank) {
                    return Transfer{(rank + 1) % 4, rank == 3 ? last : Bytes{8}, flags.at((rank + 1) % 4, 0)};
                  }},
             Wait{"wait", [=](Rank rank) { return flags.at(rank, 0); }}}}};
    return keeps_from_turning(program, 2);
  };
  EXPECT_THAT(copy(Bytes{8}), IsEmpty());
  EXPECT_THAT(copy(Bytes{9}), HasSubstr("'copy': rank 3 does not copy what rank 1 copies with all ranks moved by 2"));
}

}  // namespace
}  // namespace moire::program
