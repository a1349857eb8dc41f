// The operators of this folder. Each is defined in the file of its name, except that the embedding operator is defined
// in embedding_spec.cpp.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::kernel {

builder::Operator embedding_operator();
builder::Operator dlrm_operator();
builder::Operator gemm_operator();
builder::Operator stream_operator();
builder::Operator delay_operator();
builder::Operator wg_trace_operator();

}  // namespace moire::kernel
