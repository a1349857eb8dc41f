// Writes bytes to a file descriptor.
#pragma once

#include <string_view>

namespace moire::process {

// Writes all bytes: continues after partial writes and interrupts. Returns false on an error, with the reason in errno.
bool write_all(int to, std::string_view bytes);

}  // namespace moire::process
