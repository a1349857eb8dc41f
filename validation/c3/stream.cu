#include <algorithm>

#include "cuda_check.hpp"
#include "stream.hpp"

namespace {

template <int kInputs>
__global__ void __launch_bounds__(kStreamThreads)
    stream_kernel(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ out,
                  int64_t chunks) {
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const int64_t at = chunk * kStreamThreads * kStreamVectors + threadIdx.x;
    float4 x[kStreamVectors], y[kStreamVectors];
#pragma unroll
    for (int i = 0; i < kStreamVectors; ++i) {
      x[i] = a[at + i * kStreamThreads];
      if (kInputs == 2) y[i] = b[at + i * kStreamThreads];
    }
#pragma unroll
    for (int i = 0; i < kStreamVectors; ++i) {
      const float4 z = kInputs == 2 ? y[i] : make_float4(1, 1, 1, 1);
      out[at + i * kStreamThreads] = make_float4(x[i].x + z.x, x[i].y + z.y, x[i].z + z.z, x[i].w + z.w);
    }
  }
}

class Stream : public Work {
 public:
  Stream(const Operands& operands, const StreamShape& shape) : operands_(operands), shape_(shape) {}

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    const int64_t chunks = shape_.bytes / kStreamChunk;
    const int64_t grid = shape_.grid_stride ? std::min<int64_t>(chunks, int64_t{shape_.sms} * kStreamWgsPerSm) : chunks;
    for (size_t r = 0; r < streams.size(); ++r) {
      const int gpu = int(r);
      const float4* a = static_cast<const float4*>(operands_.a(gpu));
      const float4* b = static_cast<const float4*>(operands_.b(gpu));
      float4* c = static_cast<float4*>(operands_.c(gpu));
      CUDA_CHECK(cudaSetDevice(gpu));
      if (shape_.inputs == 2)
        stream_kernel<2><<<unsigned(grid), kStreamThreads, 0, streams[r]>>>(a, b, c, chunks);
      else
        stream_kernel<1><<<unsigned(grid), kStreamThreads, 0, streams[r]>>>(a, b, c, chunks);
      CUDA_CHECK(cudaGetLastError());
    }
  }

 private:
  const Operands& operands_;
  StreamShape shape_;
};

}  // namespace

std::unique_ptr<Work> make_stream(const Operands& operands, const StreamShape& shape) {
  return std::make_unique<Stream>(operands, shape);
}
