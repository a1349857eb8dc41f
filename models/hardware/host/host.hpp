// The host as a part of the machine: the thread that enqueues operations. Its times are read where queues are replayed
// (models/hardware/replay).
#pragma once

#include "models/hardware/part/part.hpp"

namespace moire::host {

const part::Declaration& declaration();

class Host final : public part::Part {};

}  // namespace moire::host
