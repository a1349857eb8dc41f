// Memory that a run may take. What needs much of it says so before it takes it, so that too large a run is refused in
// words and does not fill the machine.
#pragma once

#include <string>

namespace moire::core {

inline constexpr double flag_bytes = 24;  // of core::Flags

// In bytes; what the machine has to spare, unless it was set.
double memory_limit();
void set_memory_limit(double bytes);

// Throws TooLarge where `what` ("flags") needs more; `remedy` says what would need less.
void need_memory(double bytes, const std::string& what, const std::string& remedy);

}  // namespace moire::core
