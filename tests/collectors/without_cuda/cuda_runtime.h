// What the plain C++ of validation/ asks of the CUDA toolkit's header, for a machine that has none: names of types and
// empty attributes. Nothing here can run on a GPU.
#pragma once

#define __host__
#define __device__

struct float4 {
  float x, y, z, w;
};
using cudaStream_t = struct CUstream_st*;
