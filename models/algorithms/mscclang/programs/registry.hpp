// The collective programs that come with Moire, by name. `moire compile NAME` and operators take them from here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"
#include "sim/config/config.hpp"

namespace moire::mscclang {

// The machine that a program is made for; a spec's `nodes` and `gpus_per_node` count where they are written.
struct Shape {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
};

struct ProgramEntry {
  std::string name;
  // The parameters, a mapping, into the algorithm; nothing after reporting what is wrong, at the key's place.
  std::function<std::optional<msccl::Algorithm>(const config::Node&, config::Diagnostics&, Shape)> compile;
};

const std::vector<ProgramEntry>& programs();
const ProgramEntry* find_program(std::string_view name);  // nullptr: no such program

// Specs of all programs, for explain and the reference pages.
void describe(config::Catalogue& catalogue);

}  // namespace moire::mscclang
