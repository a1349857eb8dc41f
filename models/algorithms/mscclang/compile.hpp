// From what a program recorded to thread blocks that the runtime takes.
#pragma once

#include "models/algorithms/mscclang/program.hpp"

namespace moire::mscclang {

// Throws ProgramError where the program's own thread blocks or channels cannot be, or the runtime's limits are passed.
msccl::Algorithm compile(const Program& program);

}  // namespace moire::mscclang
