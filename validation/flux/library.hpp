// GEMMs of cuBLASLt and collectives of NCCL, alone or one after the other on one stream.
#pragma once

#include "operators.hpp"

std::unique_ptr<Operator> make_library_operator(const Case& c, const Operands& operands, const FusedMemory& memory,
                                                const NcclCommunicators* comms);
