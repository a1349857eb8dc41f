// The operators of this folder.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::chunked {

builder::Operator chunked_broadcast_operator();
builder::Operator chunked_all_gather_operator();
builder::Operator chunked_reduce_scatter_operator();
builder::Operator chunked_all_reduce_operator();

}  // namespace moire::chunked
