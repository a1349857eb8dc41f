// Compiles a recorded program to thread blocks for MSCCL's runtime.
#pragma once

#include "models/algorithms/mscclang/program.hpp"

namespace moire::mscclang {

// Returns the algorithm of thread blocks. Throws ProgramError if the thread blocks or channels that the program names
// are impossible, or if a limit of the runtime is exceeded.
msccl::Algorithm compile(const Program& program);

}  // namespace moire::mscclang
