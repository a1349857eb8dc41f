// Declares the operator `kernel`, a kernel that a scenario describes.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::own {

builder::Operator kernel_operator();

}  // namespace moire::own
