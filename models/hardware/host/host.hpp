// The host of a rank as a part of the machine. It only declares metrics; the replay of queues
// (models/hardware/replay/queues.cpp) computes when the host's thread enqueues operations, with the times of HostSpec.
#pragma once

#include "models/hardware/part/part.hpp"

namespace moire::host {

const part::Declaration& declaration();

class Host final : public part::Part {};

}  // namespace moire::host
