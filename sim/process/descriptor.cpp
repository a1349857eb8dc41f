#include "sim/process/descriptor.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace moire::process {

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t taken = write(to, bytes.data(), bytes.size());
    if (taken >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(taken));
    } else if (errno == EAGAIN) {  // the descriptor is non-blocking
      pollfd room{to, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace moire::process
