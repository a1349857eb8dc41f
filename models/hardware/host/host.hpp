// The host as a part of the machine: the thread that enqueues operations. The replay of queues (models/hardware/replay)
// uses its times.
#pragma once

#include "models/hardware/part/part.hpp"

namespace moire::host {

const part::Declaration& declaration();

class Host final : public part::Part {};

}  // namespace moire::host
