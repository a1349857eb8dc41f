// All-to-All as a collective library runs it: one kernel of channels, each a sending and a receiving half, that move
// slots through FIFOs with credits. See README.md for the protocol and its source.
#pragma once

#include "models/builder/builder.hpp"
#include "models/collective/library_spec.hpp"

namespace moire::models::collective {

// Appends the kernel that sends `bytes_per_peer` from every rank to every other (and copies its own share).
void append_all_to_all(builder::Builder& build, const LibrarySpec& library, Bytes bytes_per_peer,
                       const std::string& name = "all_to_all");

}  // namespace moire::models::collective
