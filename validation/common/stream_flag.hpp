// A command of a stream that writes a flag, as for kernels that wait for what the stream has done before.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tensor_map.hpp"

// Enqueues a command that writes 1 to *flag. Ends the program if the driver refuses.
inline void write_flag(uint32_t* flag, cudaStream_t stream) {
  using Write = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  static const auto write = reinterpret_cast<Write>(driver_function("cuStreamWriteValue32", 12000));
  const CUresult status = write(stream, reinterpret_cast<CUdeviceptr>(flag), 1, 0);
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "cuStreamWriteValue32: status %d\n", static_cast<int>(status));
  std::exit(1);
}
