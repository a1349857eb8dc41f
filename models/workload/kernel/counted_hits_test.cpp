// Compares the share of rows that the caches hold with what a profiler counted on an H200 and an H100.
// - In a benchmark that reads random rows (validation/h200/cached_rows.csv, written by
//   validation/cached_rows/count_rows.py). evict_first_share and store_displaces are fitted to it.
// - In embedding kernels (validation/h200/cached*.csv, written by validation/fused_embedding/count_memory.py), to which
//   nothing is fitted.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

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

Errors errors(const std::string& file, const std::string& gpu_name, memory::Loads loads = memory::Loads::evict_first,
              const std::string& kernel = "unfused_kernel") {
  const libraries::EquippedGpu gpu = support::shipped_gpu(gpu_name);
  const std::int64_t resident = 4 * gpu.compute.total_cus();
  std::map<std::string, std::map<std::string, Row>> grids;
  Errors made;
  for (const Row& counted : support::csv_table("validation/" + file)) {
    if (counted.at("kernel") != kernel) continue;
    auto& points = grids[counted.at("grid")];
    if (points.empty())
      for (const Row& point : support::csv_table("validation/h200/" + counted.at("grid")))
        points[point.at("name")] = point;
    EmbeddingSpec spec = spec_of(points.at(counted.at("name")));
    spec.row_loads = loads;
    const double window = kernel == "fused" ? gpu.compute.progress_window : 0;
    const program::PhaseShape shape =
        gather_shape(spec, gpu, "gather", {.passes = 1, .workgroups = resident, .progress_window = window});
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
  EXPECT_NEAR(found.mean, 1.04, 0.05);
  EXPECT_LT(found.worst, 5.5);
  EXPECT_LT(found.worst_without_skew, 4.5);
}

// The points of operator_blind_two.yaml and operator_ordinary.yaml were counted after the model was made.
TEST(CountedHits, AreThoseOfTheModelAtBlindPoints) {
  const Errors found = errors("h200/cached_blind_two.csv", "h200");
  EXPECT_EQ(found.points, 30);
  EXPECT_NEAR(found.mean, 1.5, 0.05);
  EXPECT_LT(found.worst, 5);
}

TEST(CountedHits, OfOrdinaryLoadsAreThoseOfTheModelAtBlindPoints) {
  const Errors found = errors("h200/cached_ordinary.csv", "h200", memory::Loads::ordinary);
  EXPECT_EQ(found.points, 30);
  EXPECT_LT(found.mean, 0.5);
  EXPECT_LT(found.worst, 2.5);
}

// Workgroups of the fused kernel read more tables at once. On one GPU they drift apart less than on four.
TEST(CountedHits, OfFusedKernelsAreThoseOfTheModel) {
  const Errors found = errors("h200/cached_ordinary.csv", "h200", memory::Loads::ordinary, "fused");
  EXPECT_EQ(found.points, 30);
  EXPECT_LT(found.mean, 1.3);
  EXPECT_LT(found.worst, 8);
}

// The points of operator_unseen.yaml and operator_blind.yaml.
TEST(CountedHits, AreThoseOfTheModelAtFreshPoints) {
  const Errors found = errors("h200/cached_again.csv", "h200");
  EXPECT_EQ(found.points, 60);
  EXPECT_NEAR(found.mean, 1.24, 0.05);
  EXPECT_LT(found.worst, 5);
}

TEST(CountedHits, AreThoseOfTheModelOnAnH100) {
  const Errors found = errors("h100/cached.csv", "h100_sxm");
  EXPECT_EQ(found.points, 103);
  EXPECT_LT(found.mean, 2);
  EXPECT_LT(found.worst, 9);
}

// Errors in points of the share of the reads that hit.
struct RowErrors {
  int passes = 0;
  double mean = 0, bias = 0, worst = 0;
};

// Returns the errors of all passes of the benchmark's points that `counts` selects.
RowErrors row_errors(const std::string& gpu_name, const std::function<bool(const Row&)>& counts) {
  const libraries::EquippedGpu gpu = support::shipped_gpu(gpu_name == "h200" ? gpu_name : gpu_name + "_sxm");
  RowErrors made;
  for (const Row& point : support::csv_table("validation/" + gpu_name + "/cached_rows.csv")) {
    if (!counts(point)) continue;
    const auto number = [&](const char* key) { return std::stod(point.at(key)); };
    memory::TableReads reads{
        .rows = static_cast<std::int64_t>(number("rows")),
        .row_bytes = Bytes{number("row_bytes")},
        .zipf_exponent = number("zipf"),
        .numbers = Bytes{4},
        .loads = point.at("loads") == "ordinary" ? memory::Loads::ordinary : memory::Loads::evict_first};
    if (number("reads_per_store") > 0) reads.results = reads.row_bytes * (1 / number("reads_per_store"));
    // A pass finds what the passes before it have left, as if all were one.
    const auto hits_until = [&](double passes) {
      reads.reads_per_pass = static_cast<std::int64_t>(passes * number("reads"));
      return passes == 0 ? 0 : passes * memory::table_hit_ratio(gpu.l2, gpu.memory_side_cache, reads);
    };
    const double simulated = hits_until(number("pass") + 1) - hits_until(number("pass"));
    const double loaded = number("memory_read_bytes") - 4 * number("reads");  // without the row numbers
    const double error = 100 * (simulated - 1 + loaded / number("reads") / number("row_bytes"));
    ++made.passes;
    made.mean += std::abs(error);
    made.bias += error;
    made.worst = std::max(made.worst, std::abs(error));
  }
  made.mean /= made.passes;
  made.bias /= made.passes;
  return made;
}

bool ordinary(const Row& point) { return point.at("loads") == "ordinary"; }
bool evicted_first(const Row& point) { return point.at("loads") == "evict_first" && point.at("before") == "ordinary"; }
bool skewed(const Row& point) { return point.at("zipf") != "0"; }

TEST(CountedRows, OrdinaryLoadsHitAsInPartitionsWithLru) {
  for (const std::string gpu : {"h200", "h100"}) {
    const RowErrors found = row_errors(gpu, ordinary);
    EXPECT_EQ(found.passes, 175);
    EXPECT_LT(found.mean, 0.7) << gpu;
    EXPECT_LT(found.worst, 4) << gpu;
  }
}

TEST(CountedRows, LoadsThatAreEvictedFirstHitAsInARoomOfTheirOwn) {
  for (const std::string gpu : {"h200", "h100"}) {
    const RowErrors popular = row_errors(gpu, [](const Row& p) { return evicted_first(p) && skewed(p); });
    EXPECT_EQ(popular.passes, 72);
    EXPECT_LT(popular.mean, 1) << gpu;
    EXPECT_LT(popular.worst, 4) << gpu;
    // Alike rows that are read again and again: the room grows slowly, and small tables do not come in whole.
    const RowErrors alike = row_errors(gpu, [](const Row& p) { return evicted_first(p) && !skewed(p); });
    EXPECT_EQ(alike.passes, 103);
    EXPECT_LT(alike.mean, 7) << gpu;
    EXPECT_LT(alike.worst, 18) << gpu;
  }
}

// If all lines in the cache are evicted first, rows that are all alike have half of it.
TEST(CountedRows, AlikeRowsAloneHaveWhatBothPartitionsHold) {
  const libraries::EquippedGpu gpu = support::shipped_gpu("h200");
  for (const Row& point : support::csv_table("validation/h200/cached_rows.csv")) {
    if (point.at("before") == "ordinary" || point.at("pass") != "5") continue;
    const double read = std::stod(point.at("reads")) * std::stod(point.at("row_bytes"));
    const double hits = 1 - (std::stod(point.at("memory_read_bytes")) - 4 * std::stod(point.at("reads"))) / read;
    EXPECT_NEAR(hits, memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache, Bytes{read}), 0.11) << read;
  }
}

}  // namespace
}  // namespace moire::kernel
