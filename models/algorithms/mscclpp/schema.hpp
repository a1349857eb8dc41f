// What the readers of both schemas share.
#pragma once

#include "models/algorithms/mscclpp/fields.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

inline constexpr std::uint32_t most_chunks = 1 << 20;  // of a buffer
inline constexpr std::size_t most_gpus = 1024;
inline constexpr std::size_t most_blocks = 1024;  // of a GPU
inline constexpr std::size_t most_listed = 1 << 16;

// One GPU's part of the plan. `gpus` are how many there are.
void read_gpu_v1(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu);
void read_gpu_v2(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu);

// Appends channels to `peers`, in order.
void add_channels(const std::vector<std::uint32_t>& peers, std::vector<Channel>& channels);

}  // namespace moire::mscclpp
