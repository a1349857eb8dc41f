// cuBLASLt and NCCL, alone or one behind the other on one stream.
#pragma once

#include "operators.hpp"

std::unique_ptr<Operator> make_library_operator(const Case& c, const Operands& operands, const FusedMemory& memory,
                                                const NcclCommunicators* comms);
