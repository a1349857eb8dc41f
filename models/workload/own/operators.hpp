// The operator of this folder.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::own {

builder::Operator kernel_operator();

}  // namespace moire::own
