// The operators of this folder: the kernels of a codec without communication.
#pragma once

#include "models/workload/builder/operator.hpp"

namespace moire::codec {

builder::Operator compress_operator();
builder::Operator decompress_operator();
builder::Operator decompress_reduce_compress_operator();

}  // namespace moire::codec
