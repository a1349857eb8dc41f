// Translates an MSCCL algorithm to proof::Program, the form in which programs are proved: numbered thread blocks and
// connections, and chunks as cells of memory.
#pragma once

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/program.hpp"

namespace moire::msccl {

using proof::CallPattern;

// Returns the patterns (in place, out of place) with which the algorithm may be called, at least one.
std::vector<CallPattern> call_patterns(const Algorithm& algorithm);

// Returns how many input and output chunks the collective defines for a rank; empty if it defines no result.
std::optional<proof::Shape> stated_shape(const Algorithm& algorithm);

// Returns how many chunks of a buffer this GPU's steps may use in every call pattern that the file allows.
std::int64_t chunks_in(const Algorithm& algorithm, const Gpu& gpu, Buffer buffer);

// An algorithm with more cells (chunks of all buffers of all GPUs) than this is refused without a check.
inline constexpr std::uint64_t most_cells = std::uint64_t{1} << 26;
// Returns the number of cells of an out-of-place call, which is never smaller than that of an in-place call.
std::uint64_t cells_of(const Algorithm& algorithm);

// Return the layout of memory and the program that the proofs use. The algorithm must keep the rules (rules.hpp).
proof::Layout layout_of(const Algorithm& algorithm, CallPattern pattern);
proof::Program program_of(const Algorithm& algorithm);

}  // namespace moire::msccl
