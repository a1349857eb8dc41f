// The operator of this folder.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::transformer {

builder::Operator transformer_operator();

}  // namespace moire::transformer
