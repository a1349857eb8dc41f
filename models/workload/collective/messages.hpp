// Messages between pairs of ranks by a library's kernel (README.md): All-to-All, and every rank to one other.
#pragma once

#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// One kernel: in turn k rank r sends `bytes` to r + k and receives from r - k; turn 0 is its own share.
void append_messages(builder::Builder& build, const libraries::LibrarySpec& library, Bytes bytes,
                     const std::vector<program::Rank>& turns, const std::string& name);

// All turns.
std::vector<program::Rank> every_turn(program::Rank ranks);

}  // namespace moire::collective
