// Closed-form expectations for a machine with round numbers: 8 CUs in 2 groups of 4.
#include "app/evidence/microbench/microbench.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "app/evidence/microbench/library.hpp"
#include "models/workload/collective/timing.hpp"
#include "tests/support/example_equipped.hpp"

namespace moire::microbench {
namespace {

Values run(const libraries::EquippedSystem& system, const std::string& name, const Parameters& parameters) {
  const Benchmark* benchmark = find(name);
  if (benchmark == nullptr || !benchmark->run) throw std::runtime_error("no benchmark " + name);
  return benchmark->run(system, parameters);
}
double value(const libraries::EquippedSystem& system, const std::string& name, const Parameters& parameters,
             const std::string& metric) {
  return run(system, name, parameters).at(metric);
}

libraries::EquippedSystem example(std::int64_t gpus = 1) { return libraries::example_equipped(gpus); }

TEST(Microbench, NamesAreUniqueAndUnknownOnesAreNotFound) {
  std::set<std::string> names;
  for (const Benchmark& benchmark : all()) {
    EXPECT_TRUE(names.insert(benchmark.name).second) << benchmark.name;
    EXPECT_FALSE(benchmark.metrics.empty()) << benchmark.name;
    EXPECT_FALSE(benchmark.parameters.empty()) << benchmark.name;
    EXPECT_EQ(find(benchmark.name), &benchmark);
  }
  EXPECT_EQ(find("no such benchmark"), nullptr);
}

TEST(Microbench, RefusesWhatTheMachineCannotHave) {
  EXPECT_THROW(run(example(), "vector_rate", {{"sms", 8}}), std::invalid_argument);  // wgs_per_sm is missing
  EXPECT_THROW(run(example(), "vector_rate", {{"sms", 8}, {"wgs_per_sm", 5}}), std::invalid_argument);  // 1,280 threads
  EXPECT_THROW(run(example(), "vector_rate", {{"sms", 1.5}, {"wgs_per_sm", 1}}), std::invalid_argument);
  EXPECT_THROW(run(example(2), "copy_fan_in", {{"bytes", 1e6}, {"senders", 2}}), std::invalid_argument);
  EXPECT_THROW(run(libraries::example_equipped(2, 1, link::Wiring::none), "copy_pairs", {{"bytes", 1e6}}),
               std::invalid_argument);
}

TEST(Launch, CallAndFirstStore) {
  libraries::EquippedSystem system = example();
  system.node.gpu.host.enqueue = Time::from_us(2);
  system.node.gpu.host.kernel_start = Time::from_us(3);
  const Values values = run(system, "launch", {});
  EXPECT_DOUBLE_EQ(values.at("host_call"), 2);
  EXPECT_DOUBLE_EQ(values.at("host_to_store"), 2 + 3 + 0.5);  // 0.5 us until the store arrives
}

TEST(Launch, QueueGapIsTheDevicesWhateverTheHostCosts) {
  libraries::EquippedSystem system = example();
  system.node.gpu.host.enqueue = Time::from_us(9);
  system.node.gpu.host.kernel_start = Time::from_us(30);
  system.node.gpu.host.queue_gap = Time::from_us(1.5);
  for (const double wgs : {1, 8, 32}) EXPECT_DOUBLE_EQ(value(system, "launch", {{"wgs", wgs}}, "queue_gap"), 1500);
}

TEST(Dispatch, FirstWaveAndRefill) {
  libraries::EquippedSystem system = example();
  system.node.gpu.compute.launch_interval = Time::from_ns(2);
  system.node.gpu.compute.slot_refill = Time::from_ns(200);
  // Both groups start one workgroup in each turn, so each further workgroup per CU takes 4 more turns of 2 ns.
  for (const double per_sm : {1, 2, 4}) {
    const Values values = run(system, "dispatch", {{"wgs_per_sm", per_sm}});
    EXPECT_DOUBLE_EQ(values.at("first_wave_wgs"), 8 * per_sm);
    EXPECT_NEAR(values.at("first_wave_span"), (4 * per_sm - 1) * 2, 1e-6);
    EXPECT_NEAR(values.at("slot_refill"), 200, 1e-6);
  }
}

TEST(Dispatch, ClustersBesideBlockers) {
  const auto wave = [](double cluster, double blockers) {
    return value(example(), "dispatch_cluster", {{"cluster", cluster}, {"blockers", blockers}}, "first_wave_wgs");
  };
  EXPECT_DOUBLE_EQ(wave(1, 0), 8);
  EXPECT_DOUBLE_EQ(wave(1, 3), 5);
  // Blockers alternate between the groups. With two blockers, each group has 3 free CUs: enough for one cluster of 2,
  // but not for a cluster of 4.
  EXPECT_DOUBLE_EQ(wave(2, 2), 4);
  EXPECT_DOUBLE_EQ(wave(4, 2), 0);
  EXPECT_DOUBLE_EQ(wave(4, 1), 4);
  EXPECT_DOUBLE_EQ(value(example(), "cluster_limit", {{"cluster", 2}}, "clusters"), 4);
  EXPECT_DOUBLE_EQ(value(example(), "cluster_limit", {{"cluster", 16}}, "clusters"), 0);  // more than cluster_max
}

TEST(Dispatch, GroupsAsTheCollectorNumbersThem) {
  libraries::EquippedSystem system = example();
  system.node.gpu.compute.groups = {{.cus = 3, .count = 2}, {.cus = 2, .count = 1}};
  EXPECT_DOUBLE_EQ(value(system, "gpc", {{"gpc", 1}}, "sms"), 3);
  EXPECT_DOUBLE_EQ(value(system, "gpc", {{"gpc", 2}}, "sms"), 2);
  EXPECT_THROW(value(system, "gpc", {{"gpc", 3}}, "sms"), std::invalid_argument);
  // Groups whose CUs all fill first have the highest SMs and therefore the highest numbers.
  system.node.gpu.compute.groups = {{.cus = 1, .filled_first = 1}, {.cus = 4, .filled_first = 1}, {.cus = 3}};
  EXPECT_DOUBLE_EQ(value(system, "gpc", {{"gpc", 0}}, "sms"), 4);
  EXPECT_DOUBLE_EQ(value(system, "gpc", {{"gpc", 2}}, "sms"), 1);
}

TEST(Library, AllToAllIsItsKernelBetweenEvents) {
  libraries::LibrarySpec library;
  library.max_channels = 4;
  library.threads = 64;
  library.registers_per_thread = 32;
  library.slots = 4;
  library.bytes_in_flight = {80e3};
  library.setup = Time::from_us(5);
  library.node = {.channels_per_peer = 2, .slot = {4096}, .smallest_share = {4096}, .largest_share = {1e9}};
  libraries::EquippedSystem system = example(4);
  system.node.gpu.host.enqueue = Time::from_us(9);
  system.node.gpu.host.kernel_start = Time::from_us(30);
  system.node.gpu.host.event_pair = Time::from_us(4);
  EXPECT_FALSE(find("nccl_all_to_all")->run) << "it needs a library";
  const auto known = with_library(library);
  const auto found =
      std::find_if(known.begin(), known.end(), [](const Benchmark& b) { return b.name == "nccl_all_to_all"; });
  ASSERT_NE(found, known.end());
  EXPECT_EQ(known.size(), all().size());
  for (const double gpus : {2, 4}) {
    const double kernel =
        collective::time_of(example(static_cast<std::int64_t>(gpus)), {.kind = collective::Kind::all_to_all,
                                                                       .bytes = {1e6 * gpus},
                                                                       .method = {.channels = 1, .library = library}})
            .us();
    EXPECT_DOUBLE_EQ(found->run(system, {{"bytes", 1e6}, {"gpus", gpus}, {"max_ctas", 1}}).at("time"), kernel + 4);
  }
  for (const double gpus : {1, 5}) {
    EXPECT_THROW(found->run(system, {{"bytes", 1e6}, {"gpus", gpus}, {"max_ctas", 1}}), std::invalid_argument);
  }
  EXPECT_THROW(found->run(system, {{"bytes", 0}, {"gpus", 2}, {"max_ctas", 1}}), std::invalid_argument);
}

TEST(Rates, OfAnSmAloneAndOfAll) {
  for (const double sms : {1, 8}) {
    EXPECT_NEAR(value(example(), "vector_rate", {{"sms", sms}, {"wgs_per_sm", 4}}, "flops_per_sm"), 1000, 1e-6);
    EXPECT_NEAR(value(example(), "matrix_rate", {{"sms", sms}}, "flops_per_sm"), 5000, 1e-6);
  }
}

}  // namespace
}  // namespace moire::microbench
