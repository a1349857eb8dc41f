// The benchmarks peer_epilogue and peer_add: one workgroup on each SM spins for a given time, as if it ran the main
// loop of a GEMM. Then it stores a tile of 64 KiB from shared memory to a matrix of a peer or of its own GPU, or adds
// it to this matrix (bf16), and begins again. The result is the time of such a turn minus the time of the spin.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"
#include "hopper.cuh"
#include "tensor_map.hpp"

namespace {

constexpr int kTurns = 20;
constexpr int kRows = 128, kColumns = 256, kBox = 64;  // of a tile, in boxes of 64 x 64
constexpr int kMatrixColumns = 12288;
constexpr int kTileBytes = kRows * kColumns * 2;
constexpr int kSharedBytes = 200 * 1024;  // bytes of shared memory, so that only one WG fits on an SM
constexpr int64_t kPoolBytes = int64_t{512} << 20;

// When a turn ends, as numbers in the rows: when shared memory is free again, when the tile is written, or when a fence
// and the increment of a counter have followed.
enum Wait { kFree = 0, kWritten = 1, kCounted = 2 };

template <bool kAdds>
__global__ void __launch_bounds__(128) epilogue_kernel(const __grid_constant__ CUtensorMap map, uint64_t spin_ns,
                                                       int wait, uint32_t* counter, WgStamp* stamps) {
  extern __shared__ uint8_t raw[];
  const uint32_t base = (shared_address(raw) + 1023) & ~1023U;
  for (int i = int(threadIdx.x); i < kTileBytes / 16; i += 128)
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(base + 16 * i), "r"(i), "r"(i + 1), "r"(i + 2),
                 "r"(0x3f803f80)
                 : "memory");
  fence_shared_for_copies();
  __syncthreads();
  const uint64_t start = global_ns();
  if (threadIdx.x == 0) {
    for (int turn = 0; turn < kTurns; ++turn) {
      const uint64_t end = global_ns() + spin_ns;
      while (global_ns() < end) {
      }
      const int tile = turn * int(gridDim.x) + int(blockIdx.x), across = kMatrixColumns / kColumns;
      for (int box = 0; box < kRows * kColumns / (kBox * kBox); ++box) {
        const int column = tile % across * kColumns + box % 4 * kBox, row = tile / across * kRows + box / 4 * kBox;
        if constexpr (kAdds)
          tile_add(map, column, row, base + box * (kBox * kBox * 2));
        else
          tile_store(map, column, row, base + box * (kBox * kBox * 2));
      }
      stores_commit();
      if (wait == kFree) {
        stores_wait_read<0>();
        continue;
      }
      stores_wait();
      if (wait == kWritten) continue;
      fence_sys();
      asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
    }
    stores_wait();
  }
  stamp(stamps, start);
}

template <bool kAdds>
void bench(Collector& c, const char* name, std::initializer_list<int> spins) {
  std::vector<CUtensorMap> maps;
  std::vector<uint32_t*> counters;
  const int64_t rows = (int64_t{kTurns} * c.sms() / (kMatrixColumns / kColumns) + 1) * kRows;
  for (int r = 0; r < c.gpus(); ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaFuncSetAttribute(epilogue_kernel<kAdds>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
    maps.push_back(tensor_map(c.pool(r), rows, kMatrixColumns, kMatrixColumns, kBox, kBox));
    counters.push_back(nullptr);
    CUDA_CHECK(cudaMalloc(&counters.back(), 256));
    CUDA_CHECK(cudaMemset(counters.back(), 0, 256));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  HostGate gate;
  for (const int senders : {1, 2}) {
    for (const int remote : {0, 1}) {
      if (senders > c.gpus() || (remote == 1 && c.gpus() < 2)) continue;
      for (const int wgs : {1, c.sms()}) {
        for (const int spin_us : spins) {
          for (const int wait : {kFree, kWritten, kCounted}) {
            std::vector<double> slowest;
            const std::vector<double> mean = repeat([&](int i) {
              for (int r = 0; r < senders; ++r) {
                const size_t to = size_t((r + remote) % c.gpus());
                gate.hold(r, c.stream(r));
                epilogue_kernel<kAdds><<<wgs, 128, kSharedBytes, c.stream(r)>>>(maps[to], uint64_t(spin_us) * 1000,
                                                                                wait, counters[to], c.stamps(r));
                CUDA_CHECK(cudaGetLastError());
              }
              gate.open();
              double sum = 0, most = 0;
              for (int r = 0; r < senders; ++r) {
                for (const WgStamp& s : c.read(r, wgs)) {
                  const double over = double(s.end_ns - s.start_ns) / kTurns - spin_us * 1e3;
                  sum += over;
                  most = std::max(most, over);
                }
              }
              if (gate.gave_up()) std::fprintf(stderr, "%s: a gate timed out; its repetition is kept\n", name);
              if (i >= kWarmups) slowest.push_back(most);
              return sum / (double(senders) * wgs);
            });
            const Parameters p =
                Parameters()("remote", remote)("senders", senders)("wgs", wgs)("spin_us", spin_us)("wait", wait);
            c.row(name, p, "over_spin", mean, "ns");
            c.row(name, p, "over_spin_slowest", slowest, "ns");
          }
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "peer_epilogue", kPoolBytes);
  if (c.wants("peer_epilogue")) bench<false>(c, "peer_epilogue", {0, 5, 10, 20, 50, 100, 200});
  if (c.wants("peer_add")) bench<true>(c, "peer_add", {0, 5, 20, 100});
  return 0;
}
