// Replaces the header cuda_runtime.h of the CUDA toolkit on a machine without the toolkit. It has the types and empty
// attributes that the plain C++ files of validation/ need, and nothing that runs on a GPU.
#pragma once

#define __host__
#define __device__

struct float4 {
  float x, y, z, w;
};
using cudaStream_t = struct CUstream_st*;
