// GPUs of one process that may load and store each other's memory.
#pragma once

#include <cuda_runtime.h>

struct OpenGpu {
  int sms = 0;
  cudaStream_t stream = nullptr;  // of the program's own, beside the default one
};

// Makes `gpu` the current GPU, lets it access the memory of all others of the first `gpus`, and makes its stream. Ends
// the program, with a message, where the hardware cannot.
OpenGpu open_gpu(int gpu, int gpus);
