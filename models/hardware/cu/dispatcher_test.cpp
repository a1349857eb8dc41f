#include "models/hardware/cu/dispatcher.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "models/hardware/machine/spec.hpp"
#include "sim/config/config.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::cu {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

constexpr Footprint whole{1024, 1024, 0};

CuArraySpec groups_of(std::int64_t cus, std::int64_t count) {
  CuArraySpec spec;
  spec.groups = {{.cus = cus, .count = count}};
  spec.threads_per_cu = 1024;
  spec.registers_per_cu = 65536;
  spec.lds_per_cu = {65536};
  spec.workgroups_per_cu = 8;
  spec.cluster_max = 16;
  return spec;
}

CuArraySpec h200() {
  config::Diagnostics diagnostics;
  const auto root =
      config::load(std::filesystem::path(support::source_dir()) / "configs/hardware/h200.yaml", {}, diagnostics);
  const auto spec = root ? config::parse<machine::GpuSpec>(*root, diagnostics) : std::nullopt;
  EXPECT_TRUE(spec && diagnostics.ok()) << diagnostics.str();
  return spec ? spec->compute : CuArraySpec{};
}

std::vector<Placement> place_all(Dispatcher& dispatcher) {
  std::vector<Placement> placed;
  for (std::size_t before = SIZE_MAX; before != placed.size();) {
    before = placed.size();
    dispatcher.place(placed);
  }
  return placed;
}

std::vector<std::pair<std::uint32_t, std::int64_t>> who(const std::vector<Placement>& placed) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> list;
  for (const Placement& p : placed) list.emplace_back(p.grid, p.workgroup);
  return list;
}

// --- Against the H200

// A workgroup with 200 KiB of shared memory fills an SM of the H200.
constexpr Footprint one_an_sm{128, 128 * 32, 200 * 1024};

std::int64_t first_wave(const CuArraySpec& spec, std::int64_t blockers, std::int64_t cluster) {
  Dispatcher dispatcher(spec);
  if (blockers > 0) dispatcher.add({.id = 1, .workgroups = blockers, .footprint = one_an_sm});
  EXPECT_EQ(place_all(dispatcher).size(), static_cast<std::size_t>(blockers));
  dispatcher.add({.id = 2, .workgroups = 16 * 132, .footprint = one_an_sm, .cluster = cluster});
  return static_cast<std::int64_t>(place_all(dispatcher).size());
}

// Measured: the number of workgroups in the first wave if k workgroups of another kernel are resident
// (configs/hardware/h200.yaml, source gpc_map).
TEST(DispatcherOfH200, FirstWaveBesideResidentWorkgroupsIsTheMeasuredOne) {
  const CuArraySpec spec = h200();
  const std::vector<std::int64_t> blockers{0, 1, 2, 4, 8, 12, 16, 20, 24, 32};
  const std::map<std::int64_t, std::vector<std::int64_t>> measured{
      {1, {132, 131, 130, 128, 124, 120, 116, 112, 108, 100}},
      {2, {132, 130, 128, 124, 124, 116, 108, 108, 108, 92}},
      {4, {120, 120, 120, 120, 120, 104, 96, 96, 96, 88}},
  };
  for (const auto& [cluster, counts] : measured) {
    std::vector<std::int64_t> modelled;
    for (const std::int64_t k : blockers) modelled.push_back(first_wave(spec, k, cluster));
    EXPECT_THAT(modelled, Eq(counts)) << "cluster size " << cluster;
  }
}

// The numbers of clusters were measured with cudaOccupancyMaxActiveClusters.
TEST(DispatcherOfH200, HoldsTheMeasuredNumberOfClusters) {
  const CuArraySpec spec = h200();
  std::vector<std::int64_t> clusters;
  for (const std::int64_t size : {2, 4, 8, 16}) clusters.push_back(first_wave(spec, 0, size) / size);
  EXPECT_THAT(clusters, ElementsAre(66, 30, 15, 7));
}

// --- Rules

TEST(Dispatcher, OneTurnGivesEveryGroupOneWorkgroup) {
  Dispatcher dispatcher(groups_of(2, 3));
  dispatcher.add({.id = 7, .workgroups = 10, .footprint = whole});
  std::vector<Placement> turn;
  dispatcher.place(turn);
  ASSERT_EQ(turn.size(), 3);
  EXPECT_THAT((std::vector<CuId>{turn[0].cu, turn[1].cu, turn[2].cu}), ElementsAre(0, 2, 4));
  turn.clear();
  dispatcher.place(turn);
  EXPECT_THAT((std::vector<CuId>{turn[0].cu, turn[1].cu, turn[2].cu}), ElementsAre(1, 3, 5));
  turn.clear();
  dispatcher.place(turn);
  EXPECT_TRUE(turn.empty());
  EXPECT_TRUE(dispatcher.pending());
}

// Measured (traces/h200x4/dispatch.csv.zst): 80 workgroups go to 80 SMs before an SM gets a second workgroup, even if 8
// fit on each. In an earlier model, groups of 2 SMs took as many workgroups per turn as groups of 18 SMs, and had 8
// workgroups per SM before all other SMs had one.
TEST(DispatcherOfH200, SmallGroupsDoNotFillUpBeforeTheOthersBegin) {
  Dispatcher dispatcher(h200());
  dispatcher.add({.id = 1, .workgroups = 132 * 8, .footprint = {128, 128 * 32, 16 * 1024}});
  std::map<CuId, std::int64_t> on;
  std::int64_t placed = 0;
  for (const Placement& one : place_all(dispatcher)) {
    EXPECT_EQ(on[one.cu]++, placed++ / 132) << "workgroup " << one.workgroup;
  }
  EXPECT_EQ(placed, 132 * 8);
}

// The rule: a cluster goes to the group where it needs the least full SMs. Without this rule, the four groups of two
// SMs would each take a cluster of four, with two workgroups per SM, while SMs of other groups are empty.
TEST(DispatcherOfH200, ClustersDoNotStackWhileAnotherGroupHasEmptySms) {
  Dispatcher dispatcher(h200());
  dispatcher.add({.id = 1, .workgroups = 16 * 4, .footprint = {512, 512 * 32, 64 * 1024}, .cluster = 4});
  const std::vector<Placement> placed = place_all(dispatcher);
  ASSERT_EQ(placed.size(), 64);
  for (const Placement& one : placed) EXPECT_EQ(dispatcher.array().resident(one.cu), 1) << "CU " << one.cu;
}

TEST(Dispatcher, RetiringMakesRoomForExactlyOne) {
  Dispatcher dispatcher(groups_of(2, 1));
  dispatcher.add({.id = 0, .workgroups = 4, .footprint = whole});
  EXPECT_EQ(place_all(dispatcher).size(), 2);
  dispatcher.retire(1, whole);
  const std::vector<Placement> next = place_all(dispatcher);
  ASSERT_EQ(next.size(), 1);
  EXPECT_EQ(next[0].workgroup, 2);
  EXPECT_EQ(next[0].cu, 1);
}

TEST(Dispatcher, ALaterGridGetsOnlyWhatTheEarlierOneLeaves) {
  Dispatcher dispatcher(groups_of(4, 1));
  dispatcher.add({.id = 1, .workgroups = 3, .footprint = whole});
  dispatcher.add({.id = 2, .workgroups = 3, .footprint = whole});
  EXPECT_THAT(who(place_all(dispatcher)),
              ElementsAre(std::pair{1, 0}, std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 0}));
}

// The first grid of the queue waits until a whole cluster fits. A small grid after it does not overtake it.
TEST(Dispatcher, NobodyOvertakesTheHeadOfTheQueue) {
  Dispatcher dispatcher(groups_of(4, 1));
  dispatcher.add({.id = 1, .workgroups = 1, .footprint = whole});
  place_all(dispatcher);
  dispatcher.add({.id = 2, .workgroups = 4, .footprint = whole, .cluster = 4});
  dispatcher.add({.id = 3, .workgroups = 1, .footprint = whole});
  EXPECT_TRUE(place_all(dispatcher).empty());
  const std::vector<Dispatcher::Head> waiting = dispatcher.waiting();
  ASSERT_EQ(waiting.size(), 2);
  EXPECT_EQ(waiting[0].grid, 2);
  EXPECT_EQ(waiting[0].waiting, 4);
  dispatcher.retire(0, whole);
  EXPECT_THAT(who(place_all(dispatcher)),
              ElementsAre(std::pair{2, 0}, std::pair{2, 1}, std::pair{2, 2}, std::pair{2, 3}));
}

TEST(Dispatcher, PriorityOvertakesWhatIsNotYetPlacedAndTiesKeepTheirOrder) {
  Dispatcher dispatcher(groups_of(1, 1));
  dispatcher.add({.id = 1, .workgroups = 2, .footprint = whole});
  place_all(dispatcher);
  dispatcher.add({.id = 2, .workgroups = 1, .footprint = whole});
  dispatcher.add({.id = 3, .workgroups = 1, .footprint = whole, .priority = 1});
  dispatcher.add({.id = 4, .workgroups = 1, .footprint = whole, .priority = 1});
  std::vector<std::uint32_t> order;
  while (dispatcher.pending()) {
    dispatcher.retire(0, whole);
    for (const Placement& p : place_all(dispatcher)) order.push_back(p.grid);
  }
  EXPECT_THAT(order, ElementsAre(3, 4, 1, 2));
}

TEST(Dispatcher, AClusterStaysInOneGroup) {
  Dispatcher dispatcher(groups_of(3, 2));
  dispatcher.add({.id = 1, .workgroups = 4, .footprint = whole, .cluster = 2});
  const std::vector<Placement> placed = place_all(dispatcher);
  ASSERT_EQ(placed.size(), 4);
  for (std::size_t i = 0; i < 4; i += 2) {
    EXPECT_EQ(dispatcher.array().group_of(placed[i].cu), dispatcher.array().group_of(placed[i + 1].cu));
  }
  dispatcher.add({.id = 2, .workgroups = 2, .footprint = whole, .cluster = 2});  // one CU is free in each group
  EXPECT_TRUE(place_all(dispatcher).empty());
}

TEST(Dispatcher, TheLastClusterOfAGridMayBeShort) {
  Dispatcher dispatcher(groups_of(3, 1));
  dispatcher.add({.id = 1, .workgroups = 3, .footprint = whole, .cluster = 2});
  EXPECT_EQ(place_all(dispatcher).size(), 3);
  EXPECT_FALSE(dispatcher.pending());
}

TEST(Dispatcher, AnEmptyGridIsNotQueued) {
  Dispatcher dispatcher(groups_of(1, 1));
  dispatcher.add({.id = 1, .workgroups = 0, .footprint = whole});
  EXPECT_FALSE(dispatcher.pending());
}

// --- Masks

std::vector<CuId> cus_of(const std::vector<Placement>& placed, std::uint32_t grid) {
  std::vector<CuId> cus;
  for (const Placement& p : placed) {
    if (p.grid == grid) cus.push_back(p.cu);
  }
  std::sort(cus.begin(), cus.end());
  return cus;
}

TEST(DispatcherMask, KeepsAGridToItsCus) {
  Dispatcher dispatcher(groups_of(4, 2));
  const std::uint32_t mask = dispatcher.add_mask({1, 5, 6});
  EXPECT_EQ(dispatcher.add_mask({1, 5, 6}), mask);
  EXPECT_EQ(dispatcher.add_mask({}), 0U);
  dispatcher.add({.id = 1, .workgroups = 10, .footprint = whole, .mask = mask});
  EXPECT_THAT(cus_of(place_all(dispatcher), 1), ElementsAre(1, 5, 6));
  EXPECT_TRUE(dispatcher.pending());
}

TEST(DispatcherMask, GridsWithoutACommonCuDoNotBlockEachOther) {
  Dispatcher dispatcher(groups_of(4, 2));
  const std::uint32_t left = dispatcher.add_mask({0, 1, 2, 3});
  const std::uint32_t right = dispatcher.add_mask({4, 5, 6, 7});
  dispatcher.add({.id = 1, .workgroups = 10, .footprint = whole, .mask = left});
  dispatcher.add({.id = 2, .workgroups = 2, .footprint = whole, .mask = right});
  dispatcher.add({.id = 3, .workgroups = 2, .footprint = whole, .mask = right});
  const std::vector<Placement> placed = place_all(dispatcher);
  EXPECT_THAT(cus_of(placed, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(cus_of(placed, 2), ElementsAre(4, 5));
  EXPECT_THAT(cus_of(placed, 3), ElementsAre(6, 7));
}

// The first grid waits for the CUs of its mask. Later grids may use the other CUs.
TEST(DispatcherMask, WhoIsBehindMayHaveTheCusThatNobodyBeforeItWants) {
  Dispatcher dispatcher(groups_of(4, 2));
  const std::uint32_t six = dispatcher.add_mask({0, 1, 2, 4, 5, 6});
  dispatcher.add({.id = 1, .workgroups = 10, .footprint = whole, .mask = six});
  dispatcher.add({.id = 2, .workgroups = 5, .footprint = whole});
  const std::vector<Placement> placed = place_all(dispatcher);
  EXPECT_EQ(cus_of(placed, 1).size(), 6);
  EXPECT_THAT(cus_of(placed, 2), ElementsAre(3, 7));
  // A third grid that may use all CUs does not overtake the second grid.
  dispatcher.add({.id = 3, .workgroups = 1, .footprint = whole});
  dispatcher.retire(3, whole);
  EXPECT_THAT(who(place_all(dispatcher)), ElementsAre(std::pair(2U, 2)));
}

TEST(DispatcherMask, AHigherPriorityTakesTheCommonCusFirst) {
  Dispatcher dispatcher(groups_of(4, 1));
  const std::uint32_t two = dispatcher.add_mask({0, 1});
  dispatcher.add({.id = 1, .workgroups = 4, .footprint = whole});
  dispatcher.add({.id = 2, .workgroups = 4, .footprint = whole, .priority = 1, .mask = two});
  const std::vector<Placement> placed = place_all(dispatcher);
  EXPECT_THAT(cus_of(placed, 2), ElementsAre(0, 1));
  EXPECT_THAT(cus_of(placed, 1), ElementsAre(2, 3));
}

}  // namespace
}  // namespace moire::cu
