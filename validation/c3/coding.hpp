// ZFP's kernels as computation, on every GPU.
#pragma once

#include <memory>

#include "gemm.hpp"
#include "work.hpp"

constexpr int kCodingBits = 8;  // per value of fp32, as in configs/codecs/zfp.yaml

// Compresses operand a, or decompresses its code into operand c, as `shape` says.
// Ends the program if ZFP was not built in, or if values do not survive both.
std::unique_ptr<Work> make_coding(const Operands& operands, const ComputeShape& shape);
