#include "cuda_check.hpp"
#include "evict_l2.hpp"

namespace {

__global__ void evict_l2(uint4* zeros, int64_t count) {
  uint32_t seen = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const uint4 v = zeros[i];
    seen |= v.x | v.y | v.z | v.w;
  }
  if (seen != 0) zeros[0] = make_uint4(0, 0, 0, 0);  // never happens, but keeps the compiler from removing the loads
}

}  // namespace

void launch_evict_l2(cudaStream_t stream, uint4* zeros, int sms) {
  evict_l2<<<sms * 8, 256, 0, stream>>>(zeros, kFlushBytes / int64_t{sizeof(uint4)});
  CUDA_CHECK(cudaGetLastError());
}
