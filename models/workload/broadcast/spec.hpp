// The keys of the operator chunked_broadcast, and its choice of the number of chunks if none is given.
#pragma once

#include <optional>
#include <string>

#include "models/workload/broadcast/plan.hpp"
#include "models/workload/builder/builder.hpp"
#include "models/workload/codec/kernels.hpp"

namespace moire::broadcast {

struct BroadcastSpec {
  Bytes bytes;
  std::int64_t root = 0;
  Algorithm algorithm = Algorithm::chain;
  Compression compression = Compression::off;
  bool between_nodes = false;
  std::optional<codec::CodecSpec> codec{};
  std::optional<std::int64_t> chunks{};  // absent: chosen by the closed form
  std::int64_t streams = 1;
  static void describe(config::Describer<BroadcastSpec>& d);
};

// The plan of the broadcast on a system, with its number of chunks.
Plan plan_of(const BroadcastSpec& spec, const libraries::EquippedSystem& system);
codec::Part part_of(const BroadcastSpec& spec, const Plan& plan, std::int64_t chunk);
// Largest number of tasks (turns x ranks) that is accepted; more would take minutes to simulate.
constexpr double most_tasks = 2e6;
inline double tasks_of(const Plan& plan) { return static_cast<double>(plan.turns()) * plan.shape().ranks; }
// Plain bytes / sum of the compressed bytes of all chunks.
double achieved_ratio(const BroadcastSpec& spec, const Plan& plan);

// Estimated time of a broadcast in seconds: the closed form of a pipeline with equal stages, whose length follows from
// the slowest hop and the codec calls.
double closed_form(const BroadcastSpec& spec, const Shape& shape, const libraries::EquippedSystem& system);

void append(builder::Builder& build, const BroadcastSpec& spec);

}  // namespace moire::broadcast
