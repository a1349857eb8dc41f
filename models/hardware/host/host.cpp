#include "models/hardware/host/host.hpp"

namespace moire::host {

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "host",
      .blame = {{.key = "host",
                 .lost = "launch",
                 .meaning = "Time lost to the host, which enqueues operations of other queues first; with "
                            "program.order: serial, to the queues that run before"}}};
  return declared;
}

}  // namespace moire::host
