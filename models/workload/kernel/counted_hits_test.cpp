// Compares the share of rows that the caches hold with what a profiler counted (validation/h200/cached.csv and
// validation/h100/cached.csv, written by validation/fused_embedding/count_memory.py).
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "models/workload/kernel/embedding_spec.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/shipped_gpu.hpp"

namespace moire::kernel {
namespace {

using Row = support::CsvRow;

EmbeddingSpec spec_of(const Row& point) {
  const auto whole = [&](const char* key) { return std::int64_t{std::stoll(point.at(key))}; };
  EmbeddingSpec spec;
  spec.tables_per_gpu = whole("tables_per_gpu");
  spec.global_batch = whole("global_batch");
  spec.pooling = whole("pooling");
  spec.dim = whole("dim");
  spec.rows_per_table = whole("rows_per_table");
  spec.bags_per_workgroup = whole("bags_per_task");
  spec.zipf_exponent = std::stod(point.at("zipf"));
  spec.dtype = point.at("dtype") == "fp32"   ? builder::DataType::fp32
               : point.at("dtype") == "bf16" ? builder::DataType::bf16
                                             : builder::DataType::fp16;
  spec.index_bytes = Bytes{4};
  spec.threads = 256;
  spec.in_flight = Bytes{32768};
  return spec;
}

// Errors in points of the share of all rows' bytes. `worst_without_skew`: at points whose rows are all alike.
struct Errors {
  int points = 0;
  double mean = 0, worst = 0, worst_without_skew = 0;
};

Errors errors(const std::string& file, const std::string& gpu_name) {
  const libraries::EquippedGpu gpu = support::shipped_gpu(gpu_name);
  const std::int64_t resident = 4 * gpu.compute.total_cus();
  std::map<std::string, std::map<std::string, Row>> grids;
  Errors made;
  for (const Row& counted : support::csv_table("validation/" + file)) {
    if (counted.at("kernel") != "unfused_kernel") continue;
    auto& points = grids[counted.at("grid")];
    if (points.empty())
      for (const Row& point : support::csv_table("validation/h200/" + counted.at("grid")))
        points[point.at("name")] = point;
    const EmbeddingSpec spec = spec_of(points.at(counted.at("name")));
    const program::PhaseShape shape = gather_shape(spec, gpu, "gather", {.passes = 1, .workgroups = resident});
    const double rows = std::stod(counted.at("row_bytes"));
    const double read = (std::stod(counted.at("memory_read_bytes")) - std::stod(counted.at("index_bytes"))) / rows;
    const double simulated =
        (shape.read * shape.read_miss - shape.dependent_read) / (shape.read - shape.dependent_read);
    const double error = 100 * std::abs(simulated - read);
    ++made.points;
    made.mean += error;
    made.worst = std::max(made.worst, error);
    if (spec.zipf_exponent == 0) made.worst_without_skew = std::max(made.worst_without_skew, error);
  }
  made.mean /= made.points;
  return made;
}

TEST(CountedHits, AreThoseOfTheModelOnAnH200) {
  const Errors found = errors("h200/cached.csv", "h200");
  EXPECT_EQ(found.points, 103);
  EXPECT_NEAR(found.mean, 1.33, 0.05);
  EXPECT_LT(found.worst, 7.5);
  EXPECT_LT(found.worst_without_skew, 2.5);
}

// The points of operator_unseen.yaml and operator_blind.yaml, which were counted after the model was made.
TEST(CountedHits, AreThoseOfTheModelAtFreshPoints) {
  const Errors found = errors("h200/cached_again.csv", "h200");
  EXPECT_EQ(found.points, 60);
  EXPECT_NEAR(found.mean, 1.64, 0.05);
  EXPECT_LT(found.worst, 8);
}

TEST(CountedHits, AreThoseOfTheModelOnAnH100) {
  const Errors found = errors("h100/cached.csv", "h100_sxm");
  EXPECT_EQ(found.points, 103);
  EXPECT_LT(found.mean, 2);
  EXPECT_LT(found.worst, 9);
}

}  // namespace
}  // namespace moire::kernel
