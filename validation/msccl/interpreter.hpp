// The kernel that runs a plan's thread blocks on one GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "block_program.hpp"
#include "harness.hpp"

inline constexpr int kWorkers = 512;  // threads that move data
inline constexpr int kPosters = 32;   // used by Simple: they fence and raise flags while the workers continue

// Why a thread block gave up: what it was waiting for when the time limit passed or another thread block gave up.
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
  uint32_t number;          // number of this launch; it increases
  uint64_t* semaphores;     // kSemaphoreWords apart
  WgStamp* stamps;          // of every block
  Stuck* stuck;             // of every block
  volatile uint32_t* stop;  // host memory, shared by all GPUs
  uint64_t limit_ns;        // of one wait
};

// All blocks must be resident at once, so there may not be more blocks than the GPU has SMs.
void launch_interpreter(cudaStream_t stream, const Launch& launch, bool ll, int blocks);
