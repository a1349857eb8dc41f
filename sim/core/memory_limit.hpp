// The memory that a run may use. Large allocations are announced beforehand, so that a run that is too large is refused
// with a message instead of exhausting the machine.
#pragma once

#include <string>

namespace moire::core {

inline constexpr double flag_bytes = 24;  // size of a flag in core::Flags

// In bytes; by default what the machine has available.
double memory_limit();
void set_memory_limit(double bytes);

// Throws TooLarge if `bytes` exceeds the limit. `what` names the data ("flags"); `remedy` says how to need less.
void need_memory(double bytes, const std::string& what, const std::string& remedy);

}  // namespace moire::core
