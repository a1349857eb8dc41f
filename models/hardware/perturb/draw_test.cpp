#include "models/hardware/perturb/draw.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "models/hardware/machine/follow.hpp"
#include "models/hardware/replay/fold.hpp"
#include "models/hardware/replay/replay.hpp"
#include "sim/config/load.hpp"
#include "tests/support/example_system.hpp"

namespace moire::perturb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

machine::SystemSpec system_of(std::int64_t nodes, std::int64_t gpus) {
  machine::SystemSpec system;
  system.nodes = nodes;
  system.node.gpus = gpus;
  system.node.gpu = machine::example_gpu();
  system.node.wiring = link::Wiring::nvswitch;
  system.node.nics = gpus;
  system.node.nic = machine::example_nic();
  system.fabric.emplace();
  system.fabric->fat_tree.emplace();
  system.fabric->fat_tree->nodes_per_leaf = 2;
  system.fabric->fat_tree->spines = 2;
  return system;
}

struct Result {
  std::optional<Drawn> drawn;
  std::string errors;
};

Result drawn_of(const std::string& yaml, const machine::SystemSpec& system) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("p.yaml", yaml, {}, diagnostics);
  config::Problem error;
  const auto machine = machine::Machine::build(system, error, {}, static_cast<program::Rank>(system.nodes));
  EXPECT_TRUE(machine) << error.str();
  const auto& networks = machine->service<part::Networks>();
  Result result;
  result.drawn = draw(*root, system, networks.networks() > 0 ? &networks.topology() : nullptr, diagnostics);
  result.errors = diagnostics.str();
  return result;
}

part::Uneven uneven_of(const std::string& yaml, const machine::SystemSpec& system) {
  const Result result = drawn_of(yaml, system);
  EXPECT_TRUE(result.drawn && result.drawn->uneven) << result.errors;
  return result.drawn && result.drawn->uneven ? *result.drawn->uneven : part::Uneven{};
}

std::string errors_of(const std::string& yaml, const machine::SystemSpec& system) {
  const Result result = drawn_of(yaml, system);
  EXPECT_FALSE(result.drawn);
  return result.errors;
}

TEST(Draw, NamedRanksNodesNicsAndLinks) {
  const auto system = system_of(4, 2);
  EXPECT_THAT(
      uneven_of("gpus: [{ranks: [1, 5], clock: {value: 0.5}}, {nodes: [2], clock: {value: 0.5}}]", system).clock,
      ElementsAre(1, 0.5, 1, 1, 0.5, 0.25, 1, 1));
  EXPECT_THAT(uneven_of("ports: [{nodes: [3], bandwidth: {value: 0.5}}]", system).port,
              ElementsAre(1, 1, 1, 1, 1, 1, 0.5, 0.5));
  EXPECT_THAT(uneven_of("nics: [{nics: [7], bandwidth: {value: 0.5}}]", system).nic,
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 0.5));
  const Time us = Time::from_us(1);
  EXPECT_THAT(
      uneven_of("start: [{ranks: [0], delay: {value: 1 us}}, {nodes: [0], delay: {value: 1 us}}]", system).start,
      ElementsAre(us * 2, us, Time{}, Time{}, Time{}, Time{}, Time{}, Time{}));
  const part::Uneven links = uneven_of("links: [{names: [leaf1.spine0.down], bandwidth: {value: 0.5}}]", system);
  ASSERT_EQ(links.link.size(), 2 * 8 + 2 * 2 * 2);
  EXPECT_EQ(links.link[16 + 5], 0.5);
  EXPECT_EQ(std::count(links.link.begin(), links.link.end(), 1.0), 23);
}

TEST(Draw, NothingIsNothing) {
  const auto system = system_of(4, 2);
  for (const char* yaml :
       {"{}", "seed: 3", "gpus: []", "gpus: [{clock: {value: 1}}]", "start: [{delay: {value: 0 s}}]"}) {
    const Result result = drawn_of(yaml, system);
    ASSERT_TRUE(result.drawn) << result.errors;
    EXPECT_EQ(result.drawn->uneven, nullptr) << yaml;
  }
}

TEST(Draw, TheSeedDecidesAndNothingElse) {
  const auto system = system_of(64, 2);
  const char* some = "{seed: 5, gpus: [{count: 3, clock: {uniform: {from: 0.5, to: 0.9}}}]}";
  const part::Uneven first = uneven_of(some, system);
  EXPECT_EQ(first.clock, uneven_of(some, system).clock);
  EXPECT_EQ(std::count(first.clock.begin(), first.clock.end(), 1.0), 125);
  EXPECT_NE(first.clock,
            uneven_of("{seed: 6, gpus: [{count: 3, clock: {uniform: {from: 0.5, to: 0.9}}}]}", system).clock);
  // The ranks that a smaller count selects are among those that a larger count selects. Other lists do not affect the
  // selection.
  const part::Uneven more = uneven_of(
      "{seed: 5, start: [{delay: {value: 1 us}}], gpus: [{share: 10 %, clock: {uniform: {from: 0.5, to: 0.9}}}]}",
      system);
  EXPECT_EQ(std::count(more.clock.begin(), more.clock.end(), 1.0), 115);
  for (std::size_t rank = 0; rank < first.clock.size(); ++rank)
    EXPECT_TRUE(first.clock[rank] == 1 || more.clock[rank] == first.clock[rank]) << rank;
}

TEST(Draw, NotesTellWhoAndHowMuch) {
  const auto notes = [](const std::string& yaml) { return drawn_of(yaml, system_of(4, 2)).drawn->notes; };
  EXPECT_THAT(notes("gpus: [{ranks: [5], clock: {value: 0.8}}]"),
              ElementsAre("perturb.gpus.0: rank 5 has 80 % of the clock"));
  EXPECT_THAT(notes("start: [{delay: {value: 20 us}}]"), ElementsAre("perturb.start.0: 8 ranks begin 20 us later"));
  EXPECT_THAT(notes("nics: [{nodes: [1], bandwidth: {uniform: {from: 0.5, to: 0.9}}}]").front(),
              testing::MatchesRegex("perturb.nics.0: 2 NICs have [0-9.]+ % to [0-9.]+ % of the bandwidth, [0-9.]+ % in "
                                    "the mean; NIC [23] is the slowest"));
}

TEST(Draw, WrongOnesAreToldWithTheirPlace) {
  const auto system = system_of(4, 2);
  EXPECT_THAT(errors_of("gpus: [{ranks: [8], clock: {value: 0.5}}]", system),
              HasSubstr("p.yaml:1:17: there is no rank 8; name numbers from 0 to 7"));
  EXPECT_THAT(errors_of("nics: [{nodes: [4], bandwidth: {value: 0.5}}]", system), HasSubstr("there is no node 4"));
  EXPECT_THAT(errors_of("gpus: [{ranks: [3, 3], clock: {value: 0.5}}]", system), HasSubstr("rank 3 appears twice"));
  EXPECT_THAT(errors_of("gpus: [{count: 9, clock: {value: 0.5}}]", system),
              HasSubstr("count is 9, but there are 8 ranks"));
  EXPECT_THAT(errors_of("gpus: [{count: 1, ranks: [1], clock: {value: 0.5}}]", system),
              HasSubstr("2 keys select who is affected; write one of ranks, nodes, count, share"));
  EXPECT_THAT(errors_of("links: [{names: [leaf0.spine9.up], bandwidth: {value: 0.5}}]", system),
              HasSubstr("the fabric has no link 'leaf0.spine9.up'; did you mean"));
  auto star = system;
  star.fabric.emplace();
  star.fabric->star.emplace();
  EXPECT_THAT(errors_of("links: [{bandwidth: {value: 0.5}}]", star), HasSubstr("no links except those of the NICs"));
  auto alone = system_of(1, 1);
  alone.fabric.reset();
  alone.node.nics = 0;
  alone.node.wiring = link::Wiring::none;
  EXPECT_THAT(errors_of("nics: [{bandwidth: {value: 0.5}}]", alone), HasSubstr("no NICs on a fabric"));
  EXPECT_THAT(errors_of("ports: [{bandwidth: {value: 0.5}}]", alone), HasSubstr("no scale-up links"));
}

// Each entry is in the allowed range. Without a limit on the product of the entries, a run could take longer than a
// Time can hold.
TEST(Draw, EntriesTogetherLeaveAHundredthAtLeast) {
  const auto system = system_of(4, 2);
  std::string seven = "gpus: [";
  for (int entry = 0; entry < 7; ++entry) seven += "{ranks: [2], clock: {value: 0.5}}, ";
  const std::string six = seven.substr(0, seven.size() - std::string("{ranks: [2], clock: {value: 0.5}}, ").size());
  EXPECT_EQ(uneven_of(six + "]", system).clock.at(2), 1. / 64);
  EXPECT_THAT(errors_of(seven + "]", system),
              HasSubstr("together with the entries before, rank 2 has 0.7812 % of the clock; leave 1 % at least"));
}

// GpuSpec::at_clock() must scale the values that the parts declare to follow the clock (follows()), and no others.
TEST(Draw, ASlowClockTakesAlongWhatFollows) {
  machine::GpuSpec gpu = machine::example_gpu();
  gpu.compute.matrix_clock = PerSecond{0.8e9};
  gpu.compute.load_per_wavefront = BytesPerSecond{1e9};
  gpu.compute.load_per_group = BytesPerSecond{1e9};
  gpu.compute.launch_interval = Time::from_ns(100);
  gpu.compute.load_path = Time::from_ns(50);
  gpu.l2.slice_bandwidth = BytesPerSecond{1e9};
  gpu.l2.slice_bandwidth_apart = BytesPerSecond{2e9};
  const machine::GpuSpec slow = gpu.at_clock(0.5);
  std::vector<std::string> followed;
  for (const part::Follow& follow : machine::follows())
    if (follow.of == "gpu.compute.clock") followed.emplace_back(follow.key);
  const auto ratio = [](auto now, auto before) { return now / before; };
  const auto time_ratio = [](Time now, Time before) {
    return static_cast<double>(now.ps) / static_cast<double>(before.ps);
  };
  const std::vector<std::pair<std::string, double>> scaled = {
      {"gpu.l2.bandwidth", ratio(slow.l2.bandwidth, gpu.l2.bandwidth)},
      {"gpu.l2.slice_bandwidth", ratio(*slow.l2.slice_bandwidth, *gpu.l2.slice_bandwidth)},
      {"gpu.l2.slice_bandwidth_apart", ratio(*slow.l2.slice_bandwidth_apart, *gpu.l2.slice_bandwidth_apart)},
      {"gpu.l2.hit_latency", 1 / time_ratio(slow.l2.hit_latency, gpu.l2.hit_latency)},
      {"gpu.compute.vector_fp32", ratio(slow.compute.vector_fp32, gpu.compute.vector_fp32)},
      {"gpu.compute.matrix_16bit", ratio(slow.compute.matrix_16bit, gpu.compute.matrix_16bit)},
      {"gpu.compute.matrix_clock", ratio(*slow.compute.matrix_clock, *gpu.compute.matrix_clock)},
      {"gpu.compute.load_store_per_cu", ratio(slow.compute.load_store_per_cu, gpu.compute.load_store_per_cu)},
      {"gpu.compute.load_per_wavefront", ratio(*slow.compute.load_per_wavefront, *gpu.compute.load_per_wavefront)},
      {"gpu.compute.load_per_group", ratio(*slow.compute.load_per_group, *gpu.compute.load_per_group)},
      {"gpu.compute.launch_interval", 1 / time_ratio(slow.compute.launch_interval, gpu.compute.launch_interval)},
      {"gpu.compute.load_path", 1 / time_ratio(*slow.compute.load_path, *gpu.compute.load_path)}};
  std::vector<std::string> keys;
  for (const auto& [key, share] : scaled) {
    keys.push_back(key);
    EXPECT_EQ(share, 0.5) << key;
  }
  EXPECT_THAT(keys, testing::UnorderedElementsAreArray(followed));
}

TEST(Draw, WhatIsTheSameAFewNodesOnFolds) {
  auto system = system_of(8, 2);
  system.fabric.emplace();
  system.fabric->star.emplace();
  program::Program program(16);
  program.queues.push_back({.name = "main", .operations = {program::Delay{"pause", Time::from_us(1)}}});
  const auto fold = [&](const std::string& yaml) {
    const Result result = drawn_of(yaml, system);
    machine::SystemSpec own = system;
    own.uneven = result.drawn->uneven;
    config::Problem error;
    return replay::fold_of(*machine::Machine::build(own, error, {}, 8), program);
  };
  EXPECT_EQ(fold("{}").images, 8U);
  EXPECT_EQ(fold("gpus: [{nodes: [0, 2, 4, 6], clock: {value: 0.5}}]").images, 4U);
  EXPECT_EQ(fold("nics: [{nodes: [0, 4], bandwidth: {value: 0.5}}]").images, 2U);
  EXPECT_EQ(fold("nics: [{nodes: [0], bandwidth: {value: 0.5}}]").images, 1U);
  EXPECT_EQ(fold("nics: [{nodes: [0], bandwidth: {value: 0.5}}]").why_not,
            "NICs (perturb.nics) do not repeat every node");
  EXPECT_EQ(fold("start: [{count: 1, delay: {value: 1 us}}]").why_not,
            "starts (perturb.start) do not repeat every node");
}

}  // namespace
}  // namespace moire::perturb
