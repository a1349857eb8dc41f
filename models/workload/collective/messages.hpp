// Appends kernels of a library that send messages between pairs of ranks (README.md): All-to-All, and send_recv, in
// which every rank sends to one other rank.
#pragma once

#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/message_deal.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// Appends one kernel that sends messages of `bytes` in the turns `numbers`. Without `wraps`, every rank sends only to
// higher ranks.
void append_messages(builder::Builder& build, const libraries::LibrarySpec& library, Bytes bytes, const Turns& turns,
                     const std::vector<std::uint32_t>& numbers, const std::string& name, bool wraps = true);

// Appends the kernel of an All-to-All with messages of `bytes`: all turns, in the library's order. Without
// `copies_own`, turn 0, in which a rank copies its own share, is left out.
void append_all_to_all(builder::Builder& build, const libraries::LibrarySpec& library, Bytes bytes, bool copies_own,
                       const std::string& name);
std::vector<std::uint32_t> every_turn(std::uint32_t ranks);

}  // namespace moire::collective
