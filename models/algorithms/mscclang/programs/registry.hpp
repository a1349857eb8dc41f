// The collective programs that come with Moire, by name. `moire compile NAME` and operators find them here.
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

// The machine that a program is made for. `nodes` and `gpus_per_node` of a spec override it.
struct Shape {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
};

struct ProgramEntry {
  std::string name;
  // Turns the parameters (a mapping) into an algorithm. If there are errors, reports them at their keys and returns
  // nothing.
  std::function<std::optional<msccl::Algorithm>(const config::Node&, config::Diagnostics&, Shape)> compile;
};

const std::vector<ProgramEntry>& programs();
const ProgramEntry* find_program(std::string_view name);  // nullptr if there is none

// Adds the specs of all programs, for `moire explain` and the reference pages.
void describe(config::Catalogue& catalogue);

}  // namespace moire::mscclang
