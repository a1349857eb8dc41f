// What an algorithm must keep before it can run at all: what MSCCL's runtime refuses, and what would make it read
// elsewhere or wait for nobody. Whoever makes an algorithm (a file, the compiler) has it judged here.
#pragma once

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/msccl/complaints.hpp"

namespace moire::msccl {

inline constexpr std::int32_t most_ranks = 65'536;
inline constexpr std::int32_t most_channels = 64;
inline constexpr std::size_t most_blocks = 1024;  // of a GPU
inline constexpr std::size_t most_steps = 256;    // of a thread block
inline constexpr std::size_t usual_steps = 64;    // that every runtime takes

// All rules. What is wrong goes to `diagnostics`; true when nothing is.
bool check_rules(const Algorithm& algorithm, config::Diagnostics& diagnostics);

// The same in parts, for a reader that finds values it cannot read: each part looks only at what its name says.
void check_header(const Algorithm& algorithm, Complaints& complaints);
void check_block(const Algorithm& algorithm, std::int32_t gpu, std::int32_t block, Complaints& complaints);
void check_step(const Algorithm& algorithm, std::int32_t gpu, std::int32_t block, std::int32_t step,
                Complaints& complaints);
void check_gpu(const Algorithm& algorithm, std::int32_t gpu, Complaints& complaints);  // blocks among each other
void check_memory(const Algorithm& algorithm, Complaints& complaints);
void check_connections(const Algorithm& algorithm, Complaints& complaints);

}  // namespace moire::msccl
