// Writes bytes to a file descriptor.
#pragma once

#include <string_view>

namespace moire::process {

// Writes all bytes, in spite of partial writes and interrupts. Returns false, with the reason in errno, on an error.
bool write_all(int to, std::string_view bytes);

}  // namespace moire::process
