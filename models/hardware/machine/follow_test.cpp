#include "models/hardware/machine/follow.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <sstream>

#include "models/hardware/machine/spec.hpp"
#include "sim/config/config.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::machine {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Followed {
  SystemSpec spec;
  std::vector<std::string> told;
};

Followed with(const std::string& system, const std::vector<std::string>& sets) {
  config::Diagnostics diagnostics;
  const auto overrides = config::parse_sets(sets, diagnostics);
  const auto tree = config::load(support::source_dir() + "/configs/systems/" + system, overrides, diagnostics);
  Followed made;
  const config::Node followed = with_what_follows(*tree, made.told);
  auto spec = config::parse<SystemSpec>(followed, diagnostics);
  EXPECT_TRUE(spec) << diagnostics.str();
  if (spec) made.spec = std::move(*spec);
  return made;
}

TEST(Follow, TheFilesOwnValuesStand) {
  const Followed plain = with("4xh200.yaml", {});
  EXPECT_THAT(plain.told, IsEmpty());
  const Followed same = with("4xh200.yaml", {"node.gpu.compute.clock=1980 MHz", "nodes=1"});
  EXPECT_THAT(same.told, IsEmpty());
  EXPECT_EQ(same.spec.node.gpu.compute.matrix_16bit.value, plain.spec.node.gpu.compute.matrix_16bit.value);
}

TEST(Follow, RatesGoWithTheClock) {
  const cu::CuArraySpec was = with("4xh200.yaml", {}).spec.node.gpu.compute;
  const Followed faster = with("4xh200.yaml", {"node.gpu.compute.clock=2.97 GHz"});
  const cu::CuArraySpec& is = faster.spec.node.gpu.compute;
  EXPECT_NEAR(is.matrix_16bit / was.matrix_16bit, 1.5, 1e-12);
  EXPECT_NEAR(is.vector_fp32 / was.vector_fp32, 1.5, 1e-12);
  EXPECT_NEAR(*is.matrix_clock / *was.matrix_clock, 1.5, 1e-12);
  EXPECT_NEAR(is.load_store_per_cu / was.load_store_per_cu, 1.5, 1e-12);
  EXPECT_EQ(is.store_cost, was.store_cost);
  EXPECT_THAT(faster.told, Contains("compute.matrix_clock 2.7 GHz instead of 1.8 GHz, scaled with compute.clock"));
}

// The missing or wrong unit is the only error then, and not also the values that follow the clock.
TEST(Follow, NothingFollowsAValueWithAnotherUnit) {
  for (const std::string clock : {"1.2", "1.2 GB/s"}) {
    config::Diagnostics diagnostics;
    const auto overrides = config::parse_sets({"node.gpu.compute.clock=" + clock}, diagnostics);
    const auto tree = config::load(support::source_dir() + "/configs/systems/4xh200.yaml", overrides, diagnostics);
    std::vector<std::string> told;
    with_what_follows(*tree, told);
    EXPECT_THAT(told, IsEmpty()) << clock;
  }
}

// If a value leaves its range because it follows another one, the error names the value that the user has changed.
TEST(Follow, AnErrorOfAFollowerIsToldAtItsDriver) {
  config::Diagnostics diagnostics;
  const std::vector<config::Override> sets = config::parse_sets({"node.gpu.compute.clock=1 kHz"}, diagnostics);
  const auto tree = config::load(support::source_dir() + "/configs/systems/4xh200.yaml", sets, diagnostics);
  ASSERT_TRUE(tree) << diagnostics.str();
  std::vector<std::string> told;
  EXPECT_FALSE(config::parse<SystemSpec>(with_what_follows(*tree, told), diagnostics));
  std::istringstream errors(diagnostics.str());
  std::string error;
  ASSERT_TRUE(std::getline(errors, error));
  EXPECT_THAT(error, StartsWith("--set node.gpu.compute.clock=1 kHz: "));
  EXPECT_THAT(error, HasSubstr("'node.gpu.compute.matrix_clock'"));
}

TEST(Follow, WhatTheSameChangesSayStands) {
  const Followed faster =
      with("4xh200.yaml", {"node.gpu.compute.clock=2.97 GHz", "node.gpu.compute.matrix_clock=1.7 GHz"});
  EXPECT_EQ(faster.spec.node.gpu.compute.matrix_clock->value, 1.7e9);
  EXPECT_NEAR(faster.spec.node.gpu.compute.vector_fp32.value, 65.3e12 * 1.5, 1);
}

TEST(Follow, MoreCusBringTheirRatesAndPorts) {
  const Followed larger = with("4xh200.yaml", {"node.gpu.compute.groups.3.cus=23"});
  const cu::CuArraySpec& is = larger.spec.node.gpu.compute;
  EXPECT_EQ(is.total_cus(), 142);
  EXPECT_NEAR(is.matrix_16bit.value, 989.4e12 * 142 / 132, 1e3);
  EXPECT_EQ(std::accumulate(is.ports.begin(), is.ports.end(), std::int64_t{0}), 142) << "the file's name 132";
}

TEST(Follow, CachesOfGroupsComeWithThem) {
  const memory::CacheSpec was = with("8xmi300x.yaml", {}).spec.node.gpu.l2;
  const memory::CacheSpec is = with("8xmi300x.yaml", {"node.gpu.compute.groups.0.count=12"}).spec.node.gpu.l2;
  EXPECT_NEAR(is.capacity / was.capacity, 1.5, 1e-12);
  EXPECT_NEAR(is.bandwidth / was.bandwidth, 1.5, 1e-12);
}

TEST(Follow, LinksOfPairsDivideThoseOfThePort) {
  EXPECT_EQ(with("8xmi300x.yaml", {"node.gpu.port.links=14"}).spec.node.links_per_pair, 2);
  EXPECT_EQ(with("8xmi300x.yaml", {"node.gpu.port.links=10"}).spec.node.links_per_pair, 1);
  EXPECT_EQ(with("8xmi300x.yaml", {"node.gpus=4"}).spec.node.nics, 4);
  EXPECT_EQ(with("4xh200.yaml", {"node.gpus=2"}).spec.node.nics, 0);
  EXPECT_EQ(with("8xmi300x.yaml", {"node.gpus=4"}).spec.node.links_per_pair, 1)
      << "taking GPUs away wires nothing anew";
}

// If a change names another hardware file, the values of this file are not scaled.
TEST(Follow, AnotherGpuIsTakenAsItIs) {
  const Followed other = with("4xh200.yaml", {"node.gpu=" + support::source_dir() + "/configs/hardware/h100_sxm.yaml"});
  EXPECT_THAT(other.told, IsEmpty());
  const Followed changed = with("4xh200.yaml", {"node.gpu=" + support::source_dir() + "/configs/hardware/h100_sxm.yaml",
                                                "node.gpu.hbm.peak=6.7 TB/s"});
  EXPECT_NEAR(changed.spec.node.gpu.hbm.bandwidth.value / other.spec.node.gpu.hbm.bandwidth.value,
              6.7e12 / other.spec.node.gpu.hbm.peak.value, 1e-9);
}

TEST(Follow, EveryRuleNamesAValueThatIsThere) {
  config::Diagnostics diagnostics;
  std::vector<config::Node> trees;
  for (const char* file : {"4xh200.yaml", "8xmi300x.yaml"})
    trees.push_back(*config::load(support::source_dir() + "/configs/systems/" + file, {}, diagnostics));
  for (const part::Follow& rule : follows()) {
    for (const std::string_view path : {rule.key, rule.of}) {
      if (path == "gpu.compute.cus" || path == "gpu.compute.group_count") continue;
      bool there = false;
      for (const config::Node& tree : trees) {
        const config::Node* node = tree.find("node");
        std::string rest(path);
        while (node != nullptr && !rest.empty()) {
          const std::size_t dot = std::min(rest.find('.'), rest.size());
          node = node->find(rest.substr(0, dot));
          rest.erase(0, dot + 1);
        }
        there = there || node != nullptr;
      }
      EXPECT_TRUE(there) << path;
    }
  }
}

}  // namespace
}  // namespace moire::machine
