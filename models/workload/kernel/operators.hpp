// The operators of this folder. Each is defined in the file of its name, the embedding operator in embedding_spec.cpp.
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
