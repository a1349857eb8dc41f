// Replicates an algorithm for tests: the result has several instances, each with its own channels and chunks.
#pragma once

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::msccl {

// Returns an algorithm with several instances of `one`. Each instance has its own channels and its own part of every
// buffer. Valid only for collectives whose chunks are all alike (all-reduce).
inline Algorithm replicated(const Algorithm& one, std::int32_t instances) {
  Algorithm all = one;
  all.channels = one.channels * instances;
  all.chunks = one.chunks * instances;
  for (Gpu& gpu : all.gpus) {
    const std::vector<ThreadBlock> blocks = gpu.blocks;
    const std::int32_t size[buffers] = {gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks};
    gpu.blocks.clear();
    for (std::int32_t i = 0; i < instances; ++i) {
      for (ThreadBlock block : blocks) {
        block.channel += i * one.channels;
        for (Step& step : block.steps) {
          step.src_offset += i * size[static_cast<int>(step.src_buffer)];
          step.dst_offset += i * size[static_cast<int>(step.dst_buffer)];
          if (step.depends_block != none) step.depends_block += i * static_cast<std::int32_t>(blocks.size());
        }
        gpu.blocks.push_back(std::move(block));
      }
    }
    gpu.input_chunks *= instances;
    gpu.output_chunks *= instances;
    gpu.scratch_chunks *= instances;
  }
  return all;
}

}  // namespace moire::msccl
