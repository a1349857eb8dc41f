// The kernel that runs a plan's thread blocks on one GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "block_program.hpp"
#include "harness.hpp"

inline constexpr int kWorkers = 512;  // threads that move data
inline constexpr int kPosters = 32;   // with Simple: threads that fence and raise flags while the workers continue

// What a thread block was waiting for when its wait timed out, or when another thread block ended the launch.
struct Stuck {
  enum What : int { nothing, data, room, semaphore };
  int what, step;
  int64_t iteration;
};

struct Launch {
  const BlockProgram* blocks;
  const Op* ops;
  const Wait* waits;
  const int32_t* sources;
  char* buffer[3];
  Cut cut;
  uint32_t number;          // number of this launch; each launch has a higher one
  uint64_t* semaphores;     // one per thread block, kSemaphoreWords apart
  WgStamp* stamps;          // one per thread block
  Stuck* stuck;             // one per thread block
  volatile uint32_t* stop;  // in host memory: 1 ends the waits of all GPUs
  uint64_t limit_ns;        // longest duration of one wait
};

// Enqueues the kernel with `blocks` thread blocks. They wait for each other, so all must be resident at the same time,
// and there may not be more blocks than SMs.
void launch_interpreter(cudaStream_t stream, const Launch& launch, bool ll, int blocks);
