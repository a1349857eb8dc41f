// The algorithms of a library's channels. Each says of itself, once, in a file of its own, what it can do, what a
// library expects of it and how its channels go; the table below lists them.
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
  double bytes;            // of a rank's input; broadcast: of the buffer
  std::uint32_t channels;  // at most
  double chunk;            // bytes, at most
  double cell;             // traffic of which channels have whole numbers
  bool copies_own = true;  // all-gather: the own share to the output
  Rank root = 0;           // broadcast
  bool one_nic = false;    // rings enter and leave a node by the same NIC
};

// Steps that follow each other.
struct Hops {
  double in_node = 0;
  double between = 0;
};

struct ChannelAlgorithm {
  const char* name;  // in files
  // What a profile expects of it; where it says nothing the library never takes it by itself.
  std::optional<libraries::ExpectationSpec> libraries::ProtocolSpec::*expectation;
  bool (*does)(Kind kind);  // of the collectives that are no messages
  std::optional<std::string> (*wrong_machine)(const machine::SystemSpec& system);  // why not there; null: anywhere
  Hops (*hops)(const machine::SystemSpec& system, Kind kind);
  double (*traffic)(Kind kind, double ranks, double bytes);  // bytes through the port of the busiest rank
  // Each channel enters and leaves a node by one NIC, so what goes through a rank's port goes through all NICs of the
  // node together. Else a rank sends what it sends through its own.
  bool nics_together;
  bool is_tree = false;  // its chunks and channels go by those of trees: no rank has a part of its own
  std::shared_ptr<const ChannelProgram> (*program)(const Work& work);  // null: it has a kernel of its own (nvls.hpp)

  bool can(Kind kind, const machine::SystemSpec& system) const {
    return does(kind) && !(wrong_machine && wrong_machine(system));
  }
};

extern const ChannelAlgorithm ring_algorithm, tree_algorithm, direct_algorithm, recursive_algorithm, nvls_algorithm;

// In the order of Algorithm, and of what a library prefers where it expects the same of two.
inline constexpr std::array algorithms{&ring_algorithm, &tree_algorithm, &direct_algorithm, &recursive_algorithm,
                                       &nvls_algorithm};

// Of one that is chosen.
inline const ChannelAlgorithm& algorithm_of(Algorithm number) {
  return *algorithms[static_cast<std::size_t>(number) - 1];
}
inline const char* name_of(Algorithm number) {
  if (number == Algorithm::best) return "best";
  return number == Algorithm::automatic ? "auto" : algorithm_of(number).name;
}

// Of algorithms in which no rank is busier than another.
double even_traffic(Kind kind, double ranks, double bytes);
// Steps of an algorithm that halves or doubles what it has done in each: the next whole logarithm of base 2.
double doublings(std::int64_t n);
// An all-reduce goes the way of the others twice.
inline double ways(Kind kind) { return kind == Kind::all_reduce ? 2 : 1; }

}  // namespace moire::collective
