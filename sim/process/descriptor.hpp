// Bytes to a file descriptor.
#pragma once

#include <string_view>

namespace moire::process {

// All of them, however often the system takes only a part or is interrupted. False, and why in errno, where it refuses.
bool write_all(int to, std::string_view bytes);

}  // namespace moire::process
