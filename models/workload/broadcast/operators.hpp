// The operator of this folder.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::broadcast {

builder::Operator chunked_broadcast_operator();

}  // namespace moire::broadcast
