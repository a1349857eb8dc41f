// Translates an MSCCL algorithm to proof::Program, the form that is proved: numbered thread blocks and connections,
// with chunks as cells of memory.
#pragma once

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/program.hpp"

namespace moire::msccl {

using proof::CallPattern;

// The patterns (in place, out of place) with which the algorithm may be called; at least one.
std::vector<CallPattern> call_patterns(const Algorithm& algorithm);

// Input and output chunks that the collective defines for a rank; empty if it defines no result.
std::optional<proof::Shape> stated_shape(const Algorithm& algorithm);

// Chunks of a buffer that this GPU's steps may use in every call pattern that the file allows.
std::int64_t chunks_in(const Algorithm& algorithm, const Gpu& gpu, Buffer buffer);

// Algorithms with more cells than this are refused unchecked.
inline constexpr std::uint64_t most_cells = std::uint64_t{1} << 26;
// The number of cells out of place, which is never smaller than the number in place.
std::uint64_t cells_of(const Algorithm& algorithm);

// The algorithm must keep the rules (rules.hpp).
proof::Layout layout_of(const Algorithm& algorithm, CallPattern pattern);
proof::Program program_of(const Algorithm& algorithm);

}  // namespace moire::msccl
