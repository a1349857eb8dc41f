// Declares the algorithms that run on a library's channels. The source file of an algorithm states the collectives that
// the algorithm supports, the library's estimate of its time, and the steps of its channels. The table `algorithms`
// below lists all algorithms.
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
  std::uint32_t channels;  // largest number of channels
  double chunk;            // largest number of bytes in one step
  // Bytes of traffic through a rank's port. A channel's share is a multiple of the data that causes this much traffic.
  double cell;
  bool copies_own = true;  // all-gather: true if a rank copies its own share to the output
  Rank root = 0;           // of a broadcast
  bool one_nic = false;    // true if rings enter and leave a node through the same NIC
};

// The numbers of hops from rank to rank that follow one another, because each hop needs the data of the hop before:
// hops within nodes, and hops between nodes.
struct Hops {
  double in_node = 0;
  double between = 0;
};

struct ChannelAlgorithm {
  const char* name;  // as written in scenarios
  // The library's estimate of the algorithm's time. Without an estimate, the library never chooses the algorithm.
  std::optional<libraries::ExpectationSpec> libraries::ProtocolSpec::*expectation;
  bool (*does)(Kind kind);  // true if the algorithm supports `kind`; never called for messages
  // Returns the reason if the algorithm cannot run on this machine, and otherwise nothing. The pointer is null if the
  // algorithm runs on every machine.
  std::optional<std::string> (*wrong_machine)(const machine::SystemSpec& system);
  Hops (*hops)(const machine::SystemSpec& system, Kind kind);
  double (*traffic)(Kind kind, double ranks, double bytes);  // bytes through the busiest rank's port
  // True if each channel enters and leaves a node through one NIC. All NICs of the node together then carry as many
  // bytes as the port of one rank. False if each rank sends its traffic through its own NIC.
  bool nics_together;
  bool is_tree = false;  // true if the library's chunk sizes and numbers of channels for trees apply
  std::shared_ptr<const ChannelProgram> (*program)(const Work& work);  // null: nvls.hpp appends its kernel

  bool can(Kind kind, const machine::SystemSpec& system) const {
    return does(kind) && !(wrong_machine && wrong_machine(system));
  }
};

extern const ChannelAlgorithm ring_algorithm, tree_algorithm, direct_algorithm, recursive_algorithm, nvls_algorithm,
    pat_algorithm, nvls_tree_algorithm, nvls_sharp_algorithm;

// The algorithms in the order of the enum Algorithm. Of two algorithms with equal expected times, a library takes the
// earlier one.
inline constexpr std::array algorithms{&ring_algorithm, &tree_algorithm, &direct_algorithm,    &recursive_algorithm,
                                       &nvls_algorithm, &pat_algorithm,  &nvls_tree_algorithm, &nvls_sharp_algorithm};

// Returns the algorithm with this number, which must be neither `automatic` nor `best`.
inline const ChannelAlgorithm& algorithm_of(Algorithm number) {
  return *algorithms[static_cast<std::size_t>(number) - 1];
}
inline const char* name_of(Algorithm number) {
  if (number == Algorithm::best) return "best";
  return number == Algorithm::automatic ? "auto" : algorithm_of(number).name;
}

// Returns the bytes through a rank's port for algorithms that load all ranks equally. `bytes` is the input of a rank;
// for a broadcast, the buffer.
double even_traffic(Kind kind, double ranks, double bytes);
// Returns ceil(log2(n)). An algorithm that doubles or halves the data of a rank in each step takes this number of steps
// on n ranks.
double doublings(std::int64_t n);
// Returns the number of passes over the ranks. An all-reduce takes two: the first pass reduces and the second
// distributes the result. Other collectives take one.
inline double ways(Kind kind) { return kind == Kind::all_reduce ? 2 : 1; }

}  // namespace moire::collective
