// Closed-form expectations for a machine with round numbers. Each rate is the rate of the bottleneck.
#include <gmock/gmock.h>

#include <cmath>

#include "app/evidence/microbench/microbench.hpp"
#include "tests/support/example_equipped.hpp"

namespace moire::microbench {
namespace {

Values run(const libraries::EquippedSystem& system, const std::string& name, const Parameters& parameters) {
  return find(name)->run(system, parameters);
}

// Returns a GPU whose HBM four CUs saturate.
libraries::EquippedSystem narrow() {
  libraries::EquippedSystem system = libraries::example_equipped(1);
  system.node.gpu.hbm.bandwidth = {100e9};
  return system;
}

Parameters batches(double wgs, double per_sm, double in_flight) {
  return {{"wgs", wgs}, {"wgs_per_sm", per_sm}, {"in_flight_bytes", in_flight}};
}

// The first loads arrive a latency of memory later, which costs the mean rate of a whole run up to 0.2 %.
constexpr double of_first_loads = 2e-3;

TEST(Memory, SaturatedReadsShareTheBandwidth) {
  const Values values = run(narrow(), "hbm_read", batches(32, 4, 32768));
  EXPECT_NEAR(values.at("bandwidth"), 100, 100 * of_first_loads);
  EXPECT_NEAR(values.at("bandwidth_per_wg"), 100. / 32, 100. / 32 * of_first_loads);
}

TEST(Memory, WritesAndCopiesPayTheWriteCost) {
  libraries::EquippedSystem system = narrow();
  system.node.gpu.hbm.write_cost = 1.25;
  EXPECT_NEAR(run(system, "hbm_write", {{"wgs", 32}, {"wgs_per_sm", 4}}).at("bandwidth"), 100 / 1.25, 1e-3);
  EXPECT_NEAR(run(system, "hbm_copy", batches(32, 4, 32768)).at("bandwidth"), 100 / 2.25, 100 / 2.25 * of_first_loads);
}

TEST(Memory, StoresBetweenGathersAreAllWrittenBack) {
  libraries::EquippedSystem system = narrow();
  Parameters parameters = batches(32, 4, 32768);
  parameters["row_bytes"] = 128;
  parameters["gather_bytes"] = 32768;
  parameters["store_bytes"] = 8192;
  parameters["side_by_side"] = 0;
  parameters["tasks"] = 4;
  // 4.2 MB of rows and 1.05 MB of stores move at 100 GB/s. What the cache keeps of the stores pushes out earlier
  // stores.
  const double rows = 32 * 4 * 32768., stores = rows / 4;
  const double cache = system.node.gpu.l2.capacity.value;
  EXPECT_NEAR(run(system, "gather_store", parameters).at("time"),
              (rows * (1 - cache / 4294967296.) + stores) / 100e9 * 1e6, 1);
}

TEST(Memory, RowsShorterThanTheGranularityFetchMore) {
  Parameters parameters = batches(32, 4, 32768);
  parameters["row_bytes"] = 96;  // each row fetches two granules of 64 B
  parameters["footprint_bytes"] = 1e12;
  EXPECT_NEAR(run(narrow(), "gather", parameters).at("bandwidth"), 75, 75 * of_first_loads);
}

TEST(Memory, WhatTheCacheHoldsIsNotFetched) {
  Parameters parameters = batches(32, 4, 32768);
  parameters["row_bytes"] = 128;
  parameters["footprint_bytes"] = 1.25e6;  // the L2 holds 1 MB of it, so a fifth of the rows misses
  EXPECT_NEAR(run(narrow(), "gather", parameters).at("bandwidth"), 500, 500 * of_first_loads);
}

TEST(Memory, AChasePaysTheLatencyOfWhereItsLinesAre) {
  const libraries::EquippedSystem system = libraries::example_equipped(1);
  const auto latency = [&](double footprint) {
    return run(system, "chase", {{"footprint_bytes", footprint}}).at("latency");
  };
  // The CU adds 0.16 ns for the 32 B of each load.
  EXPECT_NEAR(latency(5e5), 100, 0.2);
  EXPECT_NEAR(latency(2e6), 250, 0.2);
  EXPECT_NEAR(latency(1e10), 400, 0.2);
}

TEST(Memory, L2ReadsAreBoundByTheL2) {
  libraries::EquippedSystem system = libraries::example_equipped(1);
  system.node.gpu.l2.bandwidth = {50e9};
  Parameters parameters = batches(32, 4, 32768);
  parameters["footprint_bytes"] = 5e5;
  EXPECT_NEAR(run(system, "l2_read", parameters).at("bandwidth"), 50, 1e-3);
}

TEST(Memory, SmsOfOneGroup) {
  const libraries::EquippedSystem system = libraries::example_equipped(1);
  const auto read = [&](double gpc, double sms) {
    Parameters parameters{{"gpc", gpc}, {"sms", sms}, {"wgs_per_sm", 1}, {"in_flight_bytes", 8000}};
    return run(system, "gpc_read", parameters).at("bandwidth");
  };
  // Each workgroup reads 2 MiB repeatedly, in 263 equal batches of at most 8,000 B, and the cache holds 1 MB. A batch
  // takes 400 ns from memory or 100 ns from the cache, plus its time on the CU at 200 B/ns.
  const double batch = std::ceil(2097152. / 263);
  const auto time = [batch](double sms) {
    const double hits = 1e6 / (sms * 2097152);
    return 400 - 300 * hits + batch / 200;
  };
  EXPECT_NEAR(read(0, 1), batch / time(1), 1e-3);
  EXPECT_NEAR(read(1, 3), 3 * batch / time(3), 1e-3);
  EXPECT_THROW(read(1, 5), std::invalid_argument);
}

TEST(LoadedLatency, AVictimAloneIsBoundByItsBatch) {
  const Values values = run(libraries::example_equipped(1), "loaded_latency",
                            {{"victims", 1},
                             {"in_flight_bytes", 8000},
                             {"background", 0},
                             {"background_in_flight_bytes", 32000},
                             {"remote", 0}});
  // A batch takes 440 ns; its loads and stores, which alternate, take 80 ns of the CU.
  EXPECT_NEAR(values.at("victim_bandwidth"), 8000 / std::pow(std::pow(440., 4) + std::pow(80., 4), 0.25), 1e-4);
  EXPECT_EQ(values.at("background_bandwidth"), 0);
}

TEST(LoadedLatency, ARemoteVictimIsBoundByThePort) {
  libraries::EquippedSystem system = libraries::example_equipped(2);
  system.node.gpu.port.links = 1;
  system.node.gpu.port.link_bandwidth = {6e9};
  const Values values = run(system, "loaded_latency",
                            {{"victims", 2},
                             {"in_flight_bytes", 8000},
                             {"background", 0},
                             {"background_in_flight_bytes", 32000},
                             {"remote", 1}});
  EXPECT_NEAR(values.at("victim_bandwidth"), 3, 1e-6);
}

TEST(LoadedLatency, InASaturatedMemoryRatesGoByBytesInFlight) {
  libraries::EquippedSystem system = narrow();
  const Values values = run(system, "loaded_latency",
                            {{"victims", 2},
                             {"in_flight_bytes", 8000},
                             {"background", 4},
                             {"background_in_flight_bytes", 32000},
                             {"remote", 0}});
  // A copy moves two bytes of memory for each byte copied. Victims and readers see the same latency in addition to the
  // time of their batch itself. The expectation is exact within 2 %: a step at the end of the window counts in
  // proportion, although rates rise once other workgroups have ended.
  const double victim = values.at("victim_bandwidth"), reader = values.at("background_bandwidth") / 4;
  EXPECT_NEAR(4 * victim + 4 * reader, 100, 2);
  EXPECT_NEAR(8000 / victim - 8000 / 200., 32000 / reader - 32000 / 200., 30);
}

}  // namespace
}  // namespace moire::microbench
