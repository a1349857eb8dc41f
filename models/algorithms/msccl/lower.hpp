// An MSCCL algorithm as what is proved: thread blocks and connections numbered through, chunks as cells.
#pragma once

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/program.hpp"

namespace moire::msccl {

using proof::CallPattern;

// Those an algorithm may be called with, at least one.
std::vector<CallPattern> call_patterns(const Algorithm& algorithm);

// Chunks of input and output that the collective states for a rank. Nothing where it states none.
std::optional<proof::Shape> stated_shape(const Algorithm& algorithm);

// Chunks of a buffer that steps of this GPU may name, in every call pattern that the file allows.
std::int64_t chunks_in(const Algorithm& algorithm, const Gpu& gpu, Buffer buffer);

// With more cells than this nothing is checked.
inline constexpr std::uint64_t most_cells = std::uint64_t{1} << 26;
// Cells the algorithm has at most in either pattern.
std::uint64_t cells_of(const Algorithm& algorithm);

// The algorithm keeps the rules (rules.hpp).
proof::Layout layout_of(const Algorithm& algorithm, CallPattern pattern);
proof::Program program_of(const Algorithm& algorithm);

}  // namespace moire::msccl
