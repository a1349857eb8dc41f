// The benchmark matrix_rate on Hopper: wgmma m64n256k16 on bf16 in shared memory, two warpgroups per SM. This is a
// separate program, because the instruction exists only on sm_90a.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"
#include "hopper.cuh"

namespace {

constexpr int kWgThreads = 256;                             // two warpgroups
constexpr int kTileA = 64 * 64 * 2, kTileB = 256 * 64 * 2;  // bytes of a tile with k = 64, in rows of 128 bytes
constexpr int kSharedBytes = 2 * kTileA + kTileB + 1024;
constexpr int kInstructions = 16;  // per round: four passes over a tile, each in four steps of 16 along k
constexpr double kFlops = 2.0 * 64 * 256 * 16 * kInstructions * 2;  // FLOP of a WG in one round

__global__ void __launch_bounds__(kWgThreads, 1) wgmma_kernel(int rounds, float* sink, WgStamp* stamps) {
  extern __shared__ uint8_t raw[];
  uint8_t* tiles = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(raw) + 1023) & ~uintptr_t{1023});
  uint32_t* words = reinterpret_cast<uint32_t*>(tiles);
  // Each word holds two bf16 numbers in (-2, 2), which switch as many bits as real operands.
  for (uint32_t i = threadIdx.x; i < (2 * kTileA + kTileB) / 4; i += kWgThreads)
    words[i] = 0x3f803f80U ^ (hash32(i) & 0x807f807fU);
  fence_shared_for_copies();
  __syncthreads();
  const uint32_t base = shared_address(tiles);
  const uint64_t a = matrix_descriptor(base + threadIdx.x / 128 * kTileA);
  const uint64_t b = matrix_descriptor(base + 2 * kTileA);
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) d[i] = 0;
  const uint64_t start = global_ns();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kInstructions; ++k) wgmma_64x256x16(d, a + k % 4 * 2, b + k % 4 * 2, 1);  // steps of 32 bytes
    wgmma_commit();
    wgmma_wait<0>();
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 128; ++i) sum += d[i];
  if (sum == 1e30F) *sink = sum;
  stamp(stamps, start);
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "matrix_wgmma", 0);
  if (!c.wants("matrix_rate")) return 0;
  CUDA_CHECK(cudaFuncSetAttribute(wgmma_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  constexpr int kRounds = 150;  // takes about 300 us, which is too short for the power limit to act
  for (const int sms : {1, c.sms()}) {
    const std::vector<double> rate = repeat([&](int) {
      wgmma_kernel<<<sms, kWgThreads, kSharedBytes>>>(kRounds, c.sink(0), c.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      return kFlops * kRounds / c.span(0, sms).ns;  // FLOP/ns of one WG, that is, GFLOP/s of an SM
    });
    c.row("matrix_rate", Parameters()("sms", sms), "flops_per_sm", rate, "GFLOP/s");
  }
  return 0;
}
