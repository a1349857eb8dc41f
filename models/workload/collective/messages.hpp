// Messages between pairs of ranks by a library's kernel (README.md): All-to-All, and every rank to one other.
#pragma once

#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/message_deal.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// One kernel: messages of `bytes` in the turns of these numbers; without `wraps` only those to higher ranks.
void append_messages(builder::Builder& build, const libraries::LibrarySpec& library, Bytes bytes, const Turns& turns,
                     const std::vector<std::uint32_t>& numbers, const std::string& name, bool wraps = true);

// All turns of an All-to-All, in the order of the library.
void append_all_to_all(builder::Builder& build, const libraries::LibrarySpec& library, Bytes bytes, bool copies_own,
                       const std::string& name);
std::vector<std::uint32_t> every_turn(std::uint32_t ranks);

}  // namespace moire::collective
