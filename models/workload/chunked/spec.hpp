// Declares the keys of the chunked collectives, their checks, and the choice of the number of chunks if none is given.
#pragma once

#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/chunked/plan.hpp"
#include "models/workload/codec/kernels.hpp"
#include "sim/config/problem.hpp"

namespace moire::chunked {

// How chunks get to another GPU of the node. peer: by one copy into its memory. host: by a copy into the memory of the
// host and another out of it, as between GPUs that cannot access each other's memory.
enum class Path { peer, host };

struct ChunkedSpec {
  Bytes bytes;
  Compression compression = Compression::off;
  bool between_nodes = false;
  std::optional<codec::CodecSpec> codec{};
  std::optional<std::int64_t> chunks{};  // absent: plan_of takes the number for which closed_form is smallest
  std::int64_t streams = 1;
  Path path = Path::peer;
};
// Returns how many GPUs of a node send each other chunks without a NIC.
Rank joined(const ChunkedSpec& spec, const libraries::EquippedSystem& system);
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

// shape_of returns the ranks, sizes and modes of the collective on this system; its number of chunks is not set yet.
// plan_of sets or chooses the number of chunks and returns the plan.
Shape shape_of(const ChunkedSpec& spec, Collective collective, const libraries::EquippedSystem& system);
Shape shape_of(const BroadcastSpec& spec, const libraries::EquippedSystem& system);
Plan plan_of(const ChunkedSpec& spec, const Shape& shape, const libraries::EquippedSystem& system);

// Returns the problem and its remedy if the system cannot run the operator, and otherwise nothing.
std::optional<config::Problem> check(const ChunkedSpec& spec, const Shape& shape,
                                     const libraries::EquippedSystem& system);

codec::Part part_of(const ChunkedSpec& spec, const Plan& plan, std::int64_t chunk);
// The largest number of tasks that is accepted. A task is the work of one rank in one turn, so there are turns x ranks
// tasks. More tasks would take minutes to simulate.
constexpr double most_tasks = 2e6;
inline double tasks_of(const Plan& plan) { return static_cast<double>(plan.turns()) * plan.shape().ranks; }
// Returns the compression ratio: plain bytes divided by compressed bytes, both summed over all chunks.
double achieved_ratio(const ChunkedSpec& spec, const Plan& plan);

// Returns an estimate of the collective's time in seconds. The formula describes a pipeline or a ring in which every
// stage takes as long as the slowest hop or codec call.
double closed_form(const ChunkedSpec& spec, const Shape& shape, const libraries::EquippedSystem& system);

// Appends the collective's operations to the program. Results report collectives with the same name as one.
void append(builder::Builder& build, const ChunkedSpec& spec, const Plan& plan, const std::string& name);

}  // namespace moire::chunked
