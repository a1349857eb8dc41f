// The keys of the operator chunked_broadcast, and how many chunks it takes where nobody says.
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
  std::optional<std::int64_t> chunks{};  // absent: what the closed form says
  std::int64_t streams = 1;
  static void describe(config::Describer<BroadcastSpec>& d);
};

// As it is done on a system, with its number of chunks.
Plan plan_of(const BroadcastSpec& spec, const libraries::EquippedSystem& system);
codec::Part part_of(const BroadcastSpec& spec, const Plan& plan, std::int64_t chunk);
// Chunks that ranks work on, over all ranks; more than so many take minutes.
constexpr double most_tasks = 2e6;
inline double tasks_of(const Plan& plan) { return static_cast<double>(plan.turns()) * plan.shape().ranks; }
// Plain bytes over bytes of the chunks as they are compressed.
double achieved_ratio(const BroadcastSpec& spec, const Plan& plan);

// What a broadcast takes whose stages last as long as the slowest hop, its latency and its codec: the closed form of a
// pipeline, seconds.
double closed_form(const BroadcastSpec& spec, const Shape& shape, const libraries::EquippedSystem& system);

void append(builder::Builder& build, const BroadcastSpec& spec);

}  // namespace moire::broadcast
