// What products with fixed tiles load from memory, compared with NVML's counters on two H200 (measured by
// validation/flux). The model was fitted to traces/h200x2/flux_traffic.csv; flux_traffic_again.csv is of another host.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/workload/kernel/gemm.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/shipped_gpu.hpp"

namespace moire::kernel {
namespace {

std::int64_t integer(const support::CsvRow& row, const char* key) { return std::stoll(row.at(key)); }

// Errors of the bytes that a GPU loads, in percent, over the kernels of one mode.
struct ByteErrors {
  int cases = 0;
  double mean = 0, bias = 0;
};

// `moved`: how often the memory stores or loads a byte of C beside the loads of the product. With rs_store, half of C
// is stored for this GPU's own rows, half comes from the peer, both halves are loaded, and their sum is half of C.
// Products with k up to 2,048 do not count: their operands nearly fit the L2, and the model misses up to a third of the
// 0.3 GB that they load.
ByteErrors byte_errors(const std::string& file, const std::string& mode, double moved, bool leaves, bool beside) {
  const libraries::EquippedGpu gpu = support::shipped_gpu("h200");
  ByteErrors errors;
  for (const support::CsvRow& row : support::csv_table("traces/h200x2/" + file)) {
    GemmSpec spec;
    spec.m = integer(row, "m");
    spec.n = integer(row, "n");
    spec.k = integer(row, "k");
    if (row.at("mode") != mode || spec.k < 4096) continue;
    spec.tile = libraries::TileSpec{128, 256, 64, 4};
    spec.cluster = libraries::ClusterSpec{1, 1};
    spec.split_k = 1;
    spec.stripe = 16;
    spec.schedule = libraries::Schedule::persistent_stride;
    if (leaves) {
      spec.row_blocks = 2;
      spec.departures.share = 0.5;
      spec.departures.rate = gpu.port.payload_bandwidth();
      spec.departures.beside = beside;
    }
    const GemmLaunch launch = launch_of(spec, gpu, gpu.gemm, gpu.compute.total_cus());
    const double c = 2. * static_cast<double>(spec.m * spec.n);
    const double counted = std::stod(row.at("memory_mb")) * 1e6 - moved * c;
    const double error = 100 * (launch.main_loop.read * launch.main_loop.read_miss / counted - 1);
    ++errors.cases;
    errors.mean += std::abs(error);
    errors.bias += error;
  }
  errors.mean /= errors.cases;
  errors.bias /= errors.cases;
  return errors;
}

// Checks the errors of 26 plain products, 24 whose tiles leave, and 18 that store them beside the next main loop.
void check_bytes(const std::string& file, double plain_mean, double stored_mean, double beside_mean, double bias) {
  const ByteErrors plain = byte_errors(file, "gemm", 1, false, false);
  EXPECT_EQ(plain.cases, 26);
  EXPECT_NEAR(plain.mean, plain_mean, 0.1);
  EXPECT_LT(std::abs(plain.bias), bias);
  const ByteErrors stored = byte_errors(file, "rs_store", 2.5, true, false);
  EXPECT_EQ(stored.cases, 24);
  EXPECT_NEAR(stored.mean, stored_mean, 0.1);
  EXPECT_LT(std::abs(stored.bias), bias);
  const ByteErrors beside = byte_errors(file, "rs_store_late", 2.5, true, true);
  EXPECT_EQ(beside.cases, 18);
  EXPECT_NEAR(beside.mean, beside_mean, 0.1);
  EXPECT_LT(std::abs(beside.bias), bias);
}

TEST(CountedTraffic, OfTheHostOfTheFit) { check_bytes("flux_traffic.csv", 10.1, 7.4, 9.7, 4); }

TEST(CountedTraffic, OfAnotherHost) { check_bytes("flux_traffic_again.csv", 10.2, 7.1, 11.4, 7); }

}  // namespace
}  // namespace moire::kernel
