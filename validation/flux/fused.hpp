// The GEMM kernel of this folder, alone and fused with the collective that follows or precedes it.
#pragma once

#include "operators.hpp"

std::unique_ptr<Operator> make_fused_operator(const Case& c, const Operands& operands, const FusedMemory& memory);
