// Lets the GPUs of one process access each other's memory.
#pragma once

#include <cuda_runtime.h>

struct OpenGpu {
  int sms = 0;
  cudaStream_t stream = nullptr;  // streams of the program, in addition to the default stream
};

// Makes `gpu` the current GPU, lets it access the memory of all other GPUs below `gpus`, and creates its stream. If the
// hardware does not allow this access, prints a message and ends the program.
OpenGpu open_gpu(int gpu, int gpus);
