#include "models/workload/groups/groups.hpp"

#include <gmock/gmock.h>

#include "models/workload/operators/registry.hpp"
#include "tests/support/example_channels.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::groups {
namespace {

using libraries::EquippedSystem;
using libraries::example_equipped;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Built {
  std::unique_ptr<program::Program> program;
  std::string errors;
};

Built build(const std::string& yaml, const EquippedSystem& system) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("g.yaml", yaml, {}, diagnostics);
  Built built;
  program::WgTraceFiles traces;
  if (root) built.program = operators::build_program(*root, system, traces, diagnostics).program;
  built.errors = diagnostics.str();
  return built;
}

replay::Result run(const std::string& yaml, const EquippedSystem& system) {
  const Built built = build(yaml, system);
  EXPECT_EQ(built.errors, "");
  return built.program ? replay::run(system, *built.program) : replay::Result{};
}

std::string errors_of(const std::string& yaml, const EquippedSystem& system = example_equipped(4, 2)) {
  return build(yaml, system).errors;
}

std::string queue(const std::string& operations) { return "queues: {main: [" + operations + "]}\n"; }

TEST(Groups, AGridCutsRanksIntoCommunicatorsAlongEachOfItsDimensions) {
  config::Diagnostics diagnostics;
  const auto node = config::load_text("g.yaml", "grid: {tp: 2, pp: 2, dp: 2}\n", {}, diagnostics);
  const auto groups = Groups::read({{"tp", 2}, {"pp", 2}, {"dp", 2}}, {}, *node, 8, part::Reach(4, true), diagnostics);
  ASSERT_TRUE(groups) << diagnostics.str();
  const auto members = [&](const char* name) {
    MembersSpec spec;
    spec.group = name;
    const auto layouts = groups->members(spec, *node, diagnostics);
    EXPECT_EQ(layouts->size(), 1);
    return layouts->front();
  };
  EXPECT_THAT(members("tp").communicators,
              ElementsAre(Communicator{0, 1}, Communicator{2, 3}, Communicator{4, 5}, Communicator{6, 7}));
  EXPECT_THAT(members("pp").communicators,
              ElementsAre(Communicator{0, 2}, Communicator{1, 3}, Communicator{4, 6}, Communicator{5, 7}));
  const Layout dp = members("dp");
  EXPECT_THAT(dp.communicators,
              ElementsAre(Communicator{0, 4}, Communicator{1, 5}, Communicator{2, 6}, Communicator{3, 7}));
  EXPECT_EQ(dp.nodes, 2);
  EXPECT_EQ(dp.gpus, 1);
}

TEST(Groups, InsideOfNodesEachCommunicatorTakesTheTimeOfAMachineOfItsSize) {
  const std::string exchange = "all_to_all: {bytes_per_peer: 1 MiB, engine: dma";
  const Time alone = run(queue("{" + exchange + "}}"), example_equipped(4)).end;
  const replay::Result both =
      run("groups: {node: {by: node}}\n" + queue("{" + exchange + ", group: node}}"), example_equipped(4, 2));
  EXPECT_EQ(both.end, alone);
  EXPECT_THAT(both.rank_end, Each(alone));
  EXPECT_EQ(both.traffic.scale_up_bytes, Bytes{8. * 3 * 1048576});
}

TEST(Groups, BetweenNodesCommunicatorsShareTheNicsThatTheirRanksShare) {
  EquippedSystem system = example_equipped(2, 2);
  const std::string gather = queue("{all_gather: {bytes_per_rank: 8 MiB, engine: nic, group: rail}}");
  const auto time = [&](std::int64_t nics, const std::string& groups) {
    system.node.nics = nics;
    return run("groups: {rail: " + groups + "}\n" + gather, system).end;
  };
  const Time one = time(2, "{ranks: [[0, 2]]}");
  EXPECT_EQ(time(2, "{stride: 2}"), one);
  const double shared = time(1, "{stride: 2}").us();
  EXPECT_NEAR(shared / time(1, "{ranks: [[0, 2]]}").us(), 2, 0.1);
}

// With PXN, a GPU sends to another node through the NIC of another GPU of its node, the relay. The relay must be a rank
// of the communicator. The relay of messages from rank 1 to rank 7 is rank 3, which is the second GPU of the
// communicator in the node, but not the second GPU of the node.
TEST(Groups, ARelayIsOneOfTheCommunicator) {
  EquippedSystem system = example_equipped(4, 2);
  system.software.library = collective::example_channels();
  system.software.library->pxn = true;
  const Built built = build(
      "groups: {odd: {ranks: [[1, 3, 5, 7]]}}\n" + queue("{all_to_all: {bytes_per_peer: 64 KiB, group: odd}}"), system);
  ASSERT_EQ(built.errors, "");
  replay::Watcher seen;
  const replay::Result result = replay::run(system, *built.program, &seen);
  EXPECT_EQ(result.traffic.scale_up_bytes, Bytes{4. * (1 + 1) * 65536})
      << "to the other GPU of the node, and to the relay";
  int puts = 0;
  for (const replay::Watcher::Put& put : seen.puts) {
    if (!put.path.starts_with("NIC")) continue;
    ++puts;
    EXPECT_EQ(put.path, "NIC " + std::to_string(put.source / 4 * 4 + put.destination % 4));
  }
  EXPECT_EQ(puts, 8);
}

TEST(Groups, RanksThatTakeNoPartGoOnAtOnce) {
  const EquippedSystem system = example_equipped(4, 2);
  const replay::Result result = run(
      "grid: {tp: 4, pp: 2}\n" + queue("{delay: {time: 10 us, where: pp == 1}}, {delay: {time: 5 us, where: pp == 0}}"),
      system);
  const Time enqueue = system.node.gpu.host.enqueue;
  for (Rank rank = 0; rank < 8; ++rank) EXPECT_EQ(result.rank_end[rank], enqueue + Time::from_us(rank < 4 ? 5 : 10));
}

TEST(Groups, AKernelOfOnesOwnSeesItsCommunicatorAsTheWholeSystem) {
  const std::string kernel =
      "{kernel: {name: pass, workgroups: 4, flags: {come: ranks}, group: tp, steps: [{for_peers: {each: p, do: "
      "[{store: "
      "{bytes: 64 KiB, to: p}}, {fence: {}}, {signal: {to: p, flag: come, index: rank}}]}}, {for_peers: {each: p, do: "
      "[{wait: {flag: come, index: p, count: workgroups}}]}}]}}";
  const replay::Result result = run("grid: {tp: 2, dp: 4}\n" + queue(kernel), example_equipped(4, 2));
  EXPECT_EQ(result.deadlock, "");
  EXPECT_EQ(result.traffic.scale_up_bytes, Bytes{8. * 4 * 65536});
}

TEST(Groups, NamesAndFlagsStayApartWhereAnOperatorStandsTwice) {
  const std::string text = "grid: {tp: 4, dp: 2}\n" + queue(
                                                          "{all_to_all: {bytes_per_peer: 1 MiB, engine: dma, group: "
                                                          "tp}}, {all_to_all: {bytes_per_peer: 1 MiB, engine: dma, "
                                                          "group: tp}}");
  const Built built = build(text, example_equipped(4, 2));
  ASSERT_TRUE(built.program) << built.errors;
  std::set<std::string> names;
  for (const program::Operation& operation : built.program->queues[0].operations)
    names.insert(program::name_of(operation));
  EXPECT_EQ(names.size(), built.program->queues[0].operations.size());
}

TEST(Groups, WhatIsWrongIsSaidWhereItStands) {
  const std::string gemm = "{delay: {time: 1 us";
  EXPECT_THAT(errors_of("grid: {tp: 3, dp: 2}\n" + queue(gemm + "}}")),
              HasSubstr("g.yaml:1:7: the grid has 6 ranks, but the system has 8"));
  EXPECT_THAT(errors_of("grid: {rank: 8}\n" + queue(gemm + "}}")), HasSubstr("'rank' cannot be used as a new name"));
  EXPECT_THAT(errors_of(queue(gemm + ", group: tp}}")),
              HasSubstr("the program has no group 'tp'; add grid: or groups: next to the queues"));
  EXPECT_THAT(errors_of("grid: {tp: 8}\n" + queue(gemm + ", group: tb}}")), HasSubstr("did you mean 'tp'?"));
  EXPECT_THAT(errors_of("groups: {g: {size: 3}}\n" + queue(gemm + "}}")),
              HasSubstr("size 3 does not divide the 8 ranks"));
  EXPECT_THAT(errors_of("groups: {g: {size: 2, stride: 2}}\n" + queue(gemm + "}}")), HasSubstr("the group has 2 keys"));
  EXPECT_THAT(errors_of("groups: {g: {ranks: [[0, 1], [1]]}}\n" + queue(gemm + "}}")),
              HasSubstr("g.yaml:1:30: rank 1 appears twice"));
  EXPECT_THAT(errors_of("groups: {g: {ranks: [[0, 9]]}}\n" + queue(gemm + "}}")),
              HasSubstr("there is no rank 9 of 8 ranks"));
  EXPECT_THAT(errors_of("groups: {g: {where: rank > 100}}\n" + queue(gemm + "}}")),
              HasSubstr("the group has no ranks"));
  EXPECT_THAT(errors_of("groups: {g: {ranks: [[0, 1, 4]]}}\n" + queue(gemm + ", group: g}}")),
              HasSubstr("a communicator has 2 ranks on node 0 but a different number on other nodes: 0, 1, 4"));
  EXPECT_THAT(errors_of("grid: {tp: 8}\n" + queue(gemm + ", group: tp, where: rank == 0}}")),
              HasSubstr("'where' holds for 1 of the 8 ranks of a communicator of group 'tp'"));
  EXPECT_THAT(errors_of(queue(gemm + ", where: rank == 9}}")), HasSubstr("'where' holds for no rank"));
}

}  // namespace
}  // namespace moire::groups
