// The rules that an algorithm must keep to run at all. They exclude algorithms that MSCCL's runtime refuses, and
// algorithms with which the runtime would access wrong memory or wait forever. Algorithms from files and algorithms
// from the compiler must keep the same rules.
#pragma once

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/msccl/complaints.hpp"

namespace moire::msccl {

inline constexpr std::int32_t most_ranks = 65'536;
inline constexpr std::int32_t most_channels = 64;
inline constexpr std::size_t most_blocks = 1024;  // of a GPU: 32 for each of 32 channels (MSCCL_MAX_NUM_THREAD_BLOCKS)
inline constexpr std::size_t most_steps = 256;    // of a thread block: MSCCL_MAX_NUM_STEPS of MSCCL
inline constexpr std::size_t usual_steps = 64;    // MSCCL_MAX_NUM_STEPS of RCCL: every runtime accepts this many

// Checks all rules and reports to `diagnostics`. Returns true if the algorithm keeps all of them.
bool check_rules(const Algorithm& algorithm, config::Diagnostics& diagnostics);

// Each of these functions checks only the part of the algorithm that it names. So read_xml() can check one part of a
// file although it failed to read another part.
void check_header(const Algorithm& algorithm, Complaints& complaints);
void check_block(const Algorithm& algorithm, std::int32_t gpu, std::int32_t block, Complaints& complaints);
void check_step(const Algorithm& algorithm, std::int32_t gpu, std::int32_t block, std::int32_t step,
                Complaints& complaints);
void check_gpu(const Algorithm& algorithm, std::int32_t gpu, Complaints& complaints);  // checks the blocks as a whole
void check_memory(const Algorithm& algorithm, Complaints& complaints);
void check_connections(const Algorithm& algorithm, Complaints& complaints);

}  // namespace moire::msccl
