// The keys of the chunked collectives, and the choice of the number of chunks if none is given.
#pragma once

#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/chunked/plan.hpp"
#include "models/workload/codec/kernels.hpp"
#include "sim/config/problem.hpp"

namespace moire::chunked {

struct ChunkedSpec {
  Bytes bytes;
  Compression compression = Compression::off;
  bool between_nodes = false;
  std::optional<codec::CodecSpec> codec{};
  std::optional<std::int64_t> chunks{};  // absent: chosen by the closed form
  std::int64_t streams = 1;
};
struct BroadcastSpec : ChunkedSpec {
  static constexpr Collective collective = Collective::broadcast;
  std::int64_t root = 0;
  Algorithm algorithm = Algorithm::chain;
  static void describe(config::Describer<BroadcastSpec>& d);
};
struct AllGatherSpec : ChunkedSpec {
  static constexpr Collective collective = Collective::all_gather;
  static void describe(config::Describer<AllGatherSpec>& d);
};
struct ReduceScatterSpec : ChunkedSpec {
  static constexpr Collective collective = Collective::reduce_scatter;
  static void describe(config::Describer<ReduceScatterSpec>& d);
};
struct AllReduceSpec : ChunkedSpec {
  static constexpr Collective collective = Collective::all_reduce;
  static void describe(config::Describer<AllReduceSpec>& d);
};

// `shape`: the operator's shape on this system, before the number of chunks is known. `plan`: the plan with all chunks.
Shape shape_of(const ChunkedSpec& spec, Collective collective, const libraries::EquippedSystem& system);
Shape shape_of(const BroadcastSpec& spec, const libraries::EquippedSystem& system);
Plan plan_of(const ChunkedSpec& spec, const Shape& shape, const libraries::EquippedSystem& system);

// If the machine cannot run the operator: why not, and what would be right.
std::optional<config::Problem> check(const ChunkedSpec& spec, const Shape& shape,
                                     const libraries::EquippedSystem& system);

codec::Part part_of(const ChunkedSpec& spec, const Plan& plan, std::int64_t chunk);
// Largest number of tasks (turns x ranks) that is accepted; more would take minutes to simulate.
constexpr double most_tasks = 2e6;
inline double tasks_of(const Plan& plan) { return static_cast<double>(plan.turns()) * plan.shape().ranks; }
// Plain bytes / sum of the compressed bytes of all chunks.
double achieved_ratio(const ChunkedSpec& spec, const Plan& plan);

// Estimated time in seconds: the closed form of a pipeline with equal stages, whose length follows from the slowest hop
// and the codec calls.
double closed_form(const ChunkedSpec& spec, const Shape& shape, const libraries::EquippedSystem& system);

// Collectives with the same name are reported as one.
void append(builder::Builder& build, const ChunkedSpec& spec, const Plan& plan, const std::string& name);

}  // namespace moire::chunked
