// ZFP's kernels as the computation that runs beside a collective, on every GPU.
#pragma once

#include <memory>

#include "gemm.hpp"
#include "work.hpp"

constexpr int kCodingBits = 8;  // per value of fp32, as in configs/codecs/zfp.yaml

// Returns the work that `shape` names: to compress operand a, or to decompress the compressed data of a into operand c.
// Ends the program if ZFP was not built in, or if compressing and decompressing changes the values too much.
std::unique_ptr<Work> make_coding(const Operands& operands, const ComputeShape& shape);
