// matrix_rate on Hopper: wgmma m64n256k16, bf16 from shared memory, two warpgroups an SM. A program of its own, because
// the instruction exists on sm_90a alone.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int kWgThreads = 256;                             // two warpgroups
constexpr int kTileA = 64 * 64 * 2, kTileB = 256 * 64 * 2;  // bytes: 64 of k, rows of 128 bytes
constexpr int kSharedBytes = 2 * kTileA + kTileB + 1024;
constexpr int kInstructions = 16;  // a round: four times the four steps of 16 that a tile holds
constexpr double kFlops = 2.0 * 64 * 256 * 16 * kInstructions * 2;  // of a WG and round

// Shared-memory matrix descriptor: 128-byte swizzle, 8 rows of 128 bytes a group.
__device__ inline uint64_t descriptor(uint32_t address) {
  return uint64_t((address & 0x3ffffU) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

__device__ inline void wgmma(float (&d)[128], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 0;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
        "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
        "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),
        "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),
        "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),
        "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),
        "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]),
        "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]),
        "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"(1));
}

__global__ void __launch_bounds__(kWgThreads, 1) wgmma_kernel(int rounds, float* sink, WgStamp* stamps) {
  extern __shared__ uint8_t raw[];
  uint8_t* tiles = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(raw) + 1023) & ~uintptr_t{1023});
  uint32_t* words = reinterpret_cast<uint32_t*>(tiles);
  // Pairs of bf16 numbers in (-2, 2): as busy as real operands.
  for (uint32_t i = threadIdx.x; i < (2 * kTileA + kTileB) / 4; i += kWgThreads)
    words[i] = 0x3f803f80U ^ (hash32(i) & 0x807f807fU);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint32_t base = uint32_t(__cvta_generic_to_shared(tiles));
  const uint64_t a = descriptor(base + threadIdx.x / 128 * kTileA);
  const uint64_t b = descriptor(base + 2 * kTileA);
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) d[i] = 0;
  const uint64_t start = global_ns();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < kInstructions; ++k) wgmma(d, a + k % 4 * 2, b + k % 4 * 2);  // 32 bytes on
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
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
  constexpr int kRounds = 150;  // some 300 us: too short for the power limit to matter
  for (const int sms : {1, c.sms()}) {
    const std::vector<double> rate = repeat([&](int) {
      wgmma_kernel<<<sms, kWgThreads, kSharedBytes>>>(kRounds, c.sink(0), c.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      return kFlops * kRounds / c.span(0, sms).ns;  // one WG an SM
    });
    c.row("matrix_rate", Parameters()("sms", sms), "flops_per_sm", rate, "GFLOP/s");
  }
  return 0;
}
