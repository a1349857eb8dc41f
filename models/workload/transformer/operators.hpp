// The operators of this folder.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::transformer {

builder::Operator transformer_operator();
builder::Operator data_parallel_step_operator();

}  // namespace moire::transformer
