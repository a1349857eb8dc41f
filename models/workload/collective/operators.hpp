// The operators of this folder. The library's collectives are defined in operators.cpp, custom algorithms in msccl.cpp
// and mscclpp.cpp.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::collective {

builder::Operator all_gather_operator();
builder::Operator all_reduce_operator();
builder::Operator reduce_scatter_operator();
builder::Operator all_to_all_operator();
builder::Operator broadcast_operator();
builder::Operator send_recv_operator();
builder::Operator msccl_operator();
builder::Operator mscclpp_operator();

}  // namespace moire::collective
