// The memory that a run may use. need_memory() checks large allocations beforehand, so that a run that is too large
// ends with a message instead of exhausting the memory of the machine.
#pragma once

#include <string>

namespace moire::core {

inline constexpr double flag_bytes = 24;  // memory of one flag in core::Flags, in bytes

// Returns the limit in bytes. By default, the limit is the memory that is available on the machine.
double memory_limit();
void set_memory_limit(double bytes);

// Throws TooLarge if `bytes` exceeds the limit. `what` names the data ("flags"); `remedy` says how to need less.
void need_memory(double bytes, const std::string& what, const std::string& remedy);

}  // namespace moire::core
