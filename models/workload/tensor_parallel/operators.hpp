// The operators of this folder.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::tensor_parallel {

builder::Operator gemm_reduce_scatter_operator();
builder::Operator all_gather_gemm_operator();

}  // namespace moire::tensor_parallel
