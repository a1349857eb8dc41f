#include "models/hardware/host/host.hpp"

namespace moire::host {

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "host",
      .blame = {{.key = "host",
                 .lost = "launch",
                 .meaning =
                     "To the host, which enqueues others first; with program.order: serial, to the queues before it"}}};
  return declared;
}

}  // namespace moire::host
