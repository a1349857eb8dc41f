// The algorithms that run on a library's channels. Each is defined in a file of its own, which states what it supports,
// what a library expects of it and which steps its channels take; the table below lists them all.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/hardware/machine/spec.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

using ir::Buffer;
using ir::ChannelProgram;
using ir::Op;
using ir::Place;
using ir::Places;
using ir::Rank;
using ir::Step;

struct Work {
  const machine::SystemSpec& system;
  Kind kind;
  double bytes;            // input of a rank; for a broadcast, the buffer
  std::uint32_t channels;  // upper limit
  double chunk;            // bytes, upper limit
  // bytes of traffic: each channel's share is a multiple of the amount that causes this traffic
  double cell;
  bool copies_own = true;  // all-gather: copy the rank's own share to the output
  Rank root = 0;           // of a broadcast
  bool one_nic = false;    // rings enter and leave a node through the same NIC
};

// Number of steps that follow one another, within nodes and between nodes.
struct Hops {
  double in_node = 0;
  double between = 0;
};

struct ChannelAlgorithm {
  const char* name;  // as written in scenarios
  // The library's estimate of its time. Without one the library never chooses the algorithm by itself.
  std::optional<libraries::ExpectationSpec> libraries::ProtocolSpec::*expectation;
  bool (*does)(Kind kind);  // supported collectives; never called for messages between pairs
  std::optional<std::string> (*wrong_machine)(const machine::SystemSpec& system);  // why not there; null: runs anywhere
  Hops (*hops)(const machine::SystemSpec& system, Kind kind);
  double (*traffic)(Kind kind, double ranks, double bytes);  // bytes through the busiest rank's port
  // True if each channel enters and leaves a node through one NIC: what passes one rank's port then passes all NICs of
  // the node together once. False if each rank sends its traffic through its own NIC.
  bool nics_together;
  bool is_tree = false;  // takes the chunk sizes and channel counts of trees: no rank owns a part
  std::shared_ptr<const ChannelProgram> (*program)(const Work& work);  // null: it has its own kernel (nvls.hpp)

  bool can(Kind kind, const machine::SystemSpec& system) const {
    return does(kind) && !(wrong_machine && wrong_machine(system));
  }
};

extern const ChannelAlgorithm ring_algorithm, tree_algorithm, direct_algorithm, recursive_algorithm, nvls_algorithm,
    pat_algorithm, nvls_tree_algorithm, nvls_sharp_algorithm;

// In the order of the enum Algorithm. Of two algorithms with equal expected times a library takes the earlier one.
inline constexpr std::array algorithms{&ring_algorithm, &tree_algorithm, &direct_algorithm,    &recursive_algorithm,
                                       &nvls_algorithm, &pat_algorithm,  &nvls_tree_algorithm, &nvls_sharp_algorithm};

// `number` must be chosen(), so neither automatic nor best.
inline const ChannelAlgorithm& algorithm_of(Algorithm number) {
  return *algorithms[static_cast<std::size_t>(number) - 1];
}
inline const char* name_of(Algorithm number) {
  if (number == Algorithm::best) return "best";
  return number == Algorithm::automatic ? "auto" : algorithm_of(number).name;
}

// Bytes through a rank's port for algorithms that load all ranks equally.
double even_traffic(Kind kind, double ranks, double bytes);
// ceil(log2(n)): the steps of an algorithm that doubles or halves its part in each step.
double doublings(std::int64_t n);
// Passes over the ranks: an all-reduce takes two (reduce, then distribute), the others one.
inline double ways(Kind kind) { return kind == Kind::all_reduce ? 2 : 1; }

}  // namespace moire::collective
