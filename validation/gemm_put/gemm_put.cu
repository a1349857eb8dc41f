// A stand-in for a user's own kernel, to test the recorder: C = A B with k split over the GPUs, and a reduce-scatter of
// the tiles inside the same kernel. Workgroups take tiles in turn. The partial sum of a tile is stored to the GPU that
// owns the tile. The owner adds the partial sums when a flag shows that all of them have arrived.
//
// Usage: gemm_put [--gpus N] [--m M] [--n N] [--k K of a GPU] [--runs R] [--alone] --out TRACE.csv
// --alone: tiles are stored to the GPU's own memory and no workgroup waits, so that only the main loop counts.
#include <cuda_bf16.h>
#include <mma.h>

#include <cstring>

#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "evict_l2.hpp"
#include "gate.hpp"
#include "gpu_info.hpp"
#include "moire_record.hpp"
#include "peer_access.hpp"
#include "provenance.hpp"

namespace {

using moire_record::Log;
using moire_record::Unit;
namespace wmma = nvcuda::wmma;

constexpr int kTile = 128;   // rows and columns of C
constexpr int kDepth = 32;   // of k, in one stage of the pipeline of copies
constexpr int kStages = 3;
constexpr int kPad = 8;      // elements of padding, so that consecutive rows start in different banks of the LDS
constexpr int kStageElements = kTile * (kDepth + kPad) + kDepth * (kTile + kPad);
constexpr size_t kLds = size_t{kStages} * kStageElements * sizeof(__nv_bfloat16);
constexpr int64_t kTileBytes = int64_t{kTile} * kTile * sizeof(float);

struct Arguments {
  const __nv_bfloat16* a;  // [m][k]
  const __nv_bfloat16* b;  // [k][n]
  float* partial[kMaxRanks];     // partial[g] is on GPU g: [tile that g owns][rank][kTile * kTile]
  uint32_t* arrived[kMaxRanks];  // arrived[g] is on GPU g: a counter for each tile that g owns
  float* c;                      // tiles that this GPU owns
  int m, n, k, rank, ranks;
  bool alone;
  int* gave_up;
  Log log;
};

__device__ inline void copy_16(void* to, const void* from) {
  const auto lds = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(lds), "l"(from));
}

// Starts copying a panel of kTile x kDepth elements of A and one of kDepth x kTile elements of B to shared memory.
__device__ void load_stage(const Arguments& args, __nv_bfloat16* stage, int row, int column, int depth) {
  __nv_bfloat16* to_b = stage + kTile * (kDepth + kPad);
  for (int i = threadIdx.x; i < kTile * kDepth / 8; i += kThreads) {
    const int r = i / (kDepth / 8), c = i % (kDepth / 8) * 8;
    copy_16(stage + r * (kDepth + kPad) + c, args.a + int64_t(row + r) * args.k + depth + c);
  }
  for (int i = threadIdx.x; i < kTile * kDepth / 8; i += kThreads) {
    const int r = i / (kTile / 8), c = i % (kTile / 8) * 8;
    copy_16(to_b + r * (kTile + kPad) + c, args.b + int64_t(depth + r) * args.n + column + c);
  }
  asm volatile("cp.async.commit_group;");
}

using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Computes the tile of C at `row` and `column` in `sum`. Each of the 8 warps computes 32 x 64 elements of the tile.
__device__ void multiply(const Arguments& args, __nv_bfloat16* lds, int row, int column, Sum (&sum)[2][4]) {
  const int warp_row = threadIdx.x / 32 / 2 * 32, warp_column = threadIdx.x / 32 % 2 * 64;
  for (auto& line : sum)
    for (auto& one : line) wmma::fill_fragment(one, 0.F);
  const int stages = args.k / kDepth;
  for (int s = 0; s < kStages - 1; ++s) load_stage(args, lds + s * kStageElements, row, column, s * kDepth);
  for (int s = 0; s < stages; ++s) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
    __syncthreads();
    if (s + kStages - 1 < stages)
      load_stage(args, lds + (s + kStages - 1) % kStages * kStageElements, row, column, (s + kStages - 1) * kDepth);
    else
      asm volatile("cp.async.commit_group;");
    const __nv_bfloat16* a = lds + s % kStages * kStageElements;
    const __nv_bfloat16* b = a + kTile * (kDepth + kPad);
    for (int d = 0; d < kDepth; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> right[4];
      for (int i = 0; i < 2; ++i)
        wmma::load_matrix_sync(left[i], a + (warp_row + 16 * i) * (kDepth + kPad) + d, kDepth + kPad);
      for (int j = 0; j < 4; ++j)
        wmma::load_matrix_sync(right[j], b + d * (kTile + kPad) + warp_column + 16 * j, kTile + kPad);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
  }
  __syncthreads();
}

__device__ void store_tile(float* to, const Sum (&sum)[2][4]) {
  const int warp_row = threadIdx.x / 32 / 2 * 32, warp_column = threadIdx.x / 32 % 2 * 64;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      wmma::store_matrix_sync(to + (warp_row + 16 * i) * kTile + warp_column + 16 * j, sum[i][j], kTile,
                              wmma::mem_row_major);
}

__global__ void __launch_bounds__(kThreads, 2) gemm_put_kernel(Arguments args) {
  extern __shared__ __align__(16) __nv_bfloat16 lds[];
  const int columns = args.n / kTile, tiles = args.m / kTile * columns;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int owner = args.alone ? args.rank : tile % args.ranks;
    uint64_t since = MOIRE_NOW();
    Sum sum[2][4];
    multiply(args, lds, tile / columns * kTile, tile % columns * kTile, sum);
    MOIRE_WORK(args.log, since, tile, args.rank, uint64_t(2 * kTile) * args.k * 2, uint64_t(2) * kTile * kTile * args.k,
               Unit::matrix_bf16);
    since = MOIRE_NOW();
    store_tile(args.partial[owner] + (int64_t(tile / args.ranks) * args.ranks + args.rank) * kTile * kTile, sum);
    __syncthreads();
    MOIRE_STORE(args.log, since, tile, owner, kTileBytes);
    if (args.alone) continue;
    since = MOIRE_NOW();
    if (threadIdx.x == 0) fence_sys();
    MOIRE_FENCE(args.log, since, tile, args.rank);
    since = MOIRE_NOW();
    if (threadIdx.x == 0)
      asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(args.arrived[owner] + tile / args.ranks) : "memory");
    MOIRE_SIGNAL(args.log, since, tile, owner, tile / args.ranks);
  }
  if (args.alone) return;
  const int owned = (tiles - args.rank + args.ranks - 1) / args.ranks;
  for (int mine = blockIdx.x; mine < owned; mine += gridDim.x) {
    const int tile = mine * args.ranks + args.rank;
    uint64_t since = MOIRE_NOW();
    if (threadIdx.x == 0) wait_for_flag(args.arrived[args.rank] + mine, args.ranks, args.gave_up);
    __syncthreads();
    MOIRE_WAIT(args.log, since, tile, args.rank, mine, args.ranks);
    since = MOIRE_NOW();
    const auto* parts = reinterpret_cast<const float4*>(args.partial[args.rank]) +
                        int64_t(mine) * args.ranks * (kTile * kTile / 4);
    auto* to = reinterpret_cast<float4*>(args.c) + int64_t(mine) * (kTile * kTile / 4);
    for (int i = threadIdx.x; i < kTile * kTile / 4; i += kThreads) {
      float4 total = parts[i];
      for (int r = 1; r < args.ranks; ++r) {
        const float4 one = parts[int64_t(r) * (kTile * kTile / 4) + i];
        total.x += one.x, total.y += one.y, total.z += one.z, total.w += one.w;
      }
      to[i] = total;
    }
    __syncthreads();
    MOIRE_WORK(args.log, since, tile, args.rank, uint64_t(args.ranks) * kTileBytes,
               uint64_t(args.ranks - 1) * kTile * kTile, Unit::vector_fp32);
    since = MOIRE_NOW();
    MOIRE_STORE(args.log, since, tile, args.rank, kTileBytes);
  }
}

__host__ __device__ float element(uint64_t number) {  // a multiple of 1/64 from -1 to 1, so that bf16 holds it exactly
  number = (number ^ (number >> 33)) * 0xff51afd7ed558ccdULL;
  number ^= number >> 29;
  return float(int(number % 129) - 64) / 64.F;
}

__global__ void fill(__nv_bfloat16* to, int64_t count, uint64_t seed) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
    to[i] = __float2bfloat16(element(seed + i));
}

struct Gpu {
  OpenGpu open;
  __nv_bfloat16 *a = nullptr, *b = nullptr;
  float *partial = nullptr, *c = nullptr;
  uint32_t *arrived = nullptr, *gate = nullptr;
  int* gave_up = nullptr;
  uint4* zeros = nullptr;
};

[[noreturn]] void usage(const std::string& what) {
  std::fprintf(stderr, "%s\nusage: gemm_put [--gpus N] [--m M] [--n N] [--k K] [--runs R] [--alone] --out TRACE.csv\n",
               what.c_str());
  std::exit(2);
}

// Returns the largest absolute error of 64 elements of `c`, the tiles that this GPU owns. The expected values are
// computed on the host.
double worst_error(const Arguments& args, const std::vector<float>& c, uint64_t seed_a, uint64_t seed_b) {
  const int columns = args.n / kTile, owned = int(c.size() / (kTile * kTile));
  double worst = 0;
  for (int probe = 0; probe < 64; ++probe) {
    const int mine = int(uint64_t(probe) * 7919 % uint64_t(owned));
    const int inside = int(uint64_t(probe) * 104729 % (kTile * kTile));
    const int tile = mine * args.ranks + args.rank;
    const int64_t row = tile / columns * kTile + inside / kTile, column = tile % columns * kTile + inside % kTile;
    double sum = 0;
    for (int r = 0; r < args.ranks; ++r) {
      for (int64_t d = 0; d < args.k; ++d)
        sum += double(element(seed_a + r * 1'000'003ULL + row * args.k + d)) *
               double(element(seed_b + r * 1'000'003ULL + d * args.n + column));
    }
    worst = std::max(worst, std::abs(sum - double(c[int64_t(mine) * kTile * kTile + inside])));
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  int gpus = 2, m = 4096, n = 4096, k = 2048, runs = 9;
  bool alone = false;
  std::string out, command = "gemm_put";
  for (int i = 1; i < argc; ++i) {
    command += std::string(" ") + argv[i];
    const std::string key = argv[i];
    if (key == "--alone") {
      alone = true;
      continue;
    }
    if (i + 1 == argc) usage(key + " needs a value");
    const char* value = argv[++i];
    command += std::string(" ") + value;
    if (key == "--out") out = value;
    else if (key == "--gpus") gpus = std::atoi(value);
    else if (key == "--m") m = std::atoi(value);
    else if (key == "--n") n = std::atoi(value);
    else if (key == "--k") k = std::atoi(value);
    else if (key == "--runs") runs = std::atoi(value);
    else usage("unknown option " + key);
  }
  if (out.empty()) usage("--out is missing");
  if (gpus < 1 || gpus > kMaxRanks || m < kTile || n < kTile || m % kTile || n % kTile || k < kDepth * kStages || k % kDepth || runs < 1)
    usage("1 to 8 GPUs, m and n multiples of 128, k a multiple of 32, at least 96");

  const int tiles = m / kTile * (n / kTile);
  const int owned = (tiles + gpus - 1) / gpus;
  constexpr uint64_t seed_a = 11, seed_b = 1'000'000'007;
  std::vector<Gpu> all(gpus);
  for (int g = 0; g < gpus; ++g) {
    Gpu& gpu = all[g];
    gpu.open = open_gpu(g, gpus);
    CUDA_CHECK(cudaMalloc(&gpu.a, sizeof(__nv_bfloat16) * m * k));
    CUDA_CHECK(cudaMalloc(&gpu.b, sizeof(__nv_bfloat16) * k * n));
    CUDA_CHECK(cudaMalloc(&gpu.partial, kTileBytes * owned * gpus));
    CUDA_CHECK(cudaMalloc(&gpu.c, kTileBytes * owned));
    CUDA_CHECK(cudaMalloc(&gpu.arrived, sizeof(uint32_t) * owned));
    CUDA_CHECK(cudaMalloc(&gpu.gate, sizeof(uint32_t) * kMaxRanks));
    CUDA_CHECK(cudaMemset(gpu.gate, 0, sizeof(uint32_t) * kMaxRanks));
    CUDA_CHECK(cudaMalloc(&gpu.gave_up, sizeof(int)));
    CUDA_CHECK(cudaMemset(gpu.gave_up, 0, sizeof(int)));
    CUDA_CHECK(cudaMalloc(&gpu.zeros, kFlushBytes));
    CUDA_CHECK(cudaMemset(gpu.zeros, 0, kFlushBytes));
    fill<<<1024, 256>>>(gpu.a, int64_t(m) * k, seed_a + g * 1'000'003ULL);
    fill<<<1024, 256>>>(gpu.b, int64_t(k) * n, seed_b + g * 1'000'003ULL);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaFuncSetAttribute(gemm_put_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(kLds)));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  int held = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, gemm_put_kernel, kThreads, kLds));
  const int grid = std::min(tiles, held * all[0].open.sms);
  const int steps = (tiles + grid - 1) / grid * 4 + (owned + grid - 1) / grid * 3;
  moire_record::Recorder recorder(gpus, grid, steps);
  volatile uint32_t* start = nullptr;
  CUDA_CHECK(cudaHostAlloc(const_cast<uint32_t**>(&start), sizeof(uint32_t), cudaHostAllocMapped | cudaHostAllocPortable));
  *start = 0;

  std::vector<Arguments> arguments(gpus);
  for (int g = 0; g < gpus; ++g) {
    Arguments& args = arguments[g];
    args = {all[g].a, all[g].b, {}, {}, all[g].c, m, n, k, g, gpus, alone, all[g].gave_up, recorder.log(g)};
    for (int p = 0; p < gpus; ++p) {
      args.partial[p] = all[p].partial;
      args.arrived[p] = all[p].arrived;
    }
  }
  // Every run is recorded, and the trace of the run with the median length is kept. The first runs also warm the GPUs
  // up.
  std::vector<long long> lengths;
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, gemm_put_kernel));
  moire_record::Kernel description{"gemm_put", kThreads, attributes.numRegs,
                                   static_cast<long long>(kLds + attributes.sharedSizeBytes),
                                   static_cast<long long>((kStages - 1) * 2 * kTile * kDepth * 2)};
  const GpuInfo info = gpu_info(0);
  description.more = {{"gpu", info.name},   {"driver", info.driver}, {"cuda", info.cuda},
                      {"command", command}, {"date", utc_now()},     {"measured_by", "validation/gemm_put"},
                      {"shape", "m=" + std::to_string(m) + ",n=" + std::to_string(n) + ",k=" + std::to_string(k)}};
  for (int run = 0; run < runs; ++run) {
    recorder.clear();
    for (int g = 0; g < gpus; ++g) {
      CUDA_CHECK(cudaSetDevice(g));
      CUDA_CHECK(cudaMemsetAsync(all[g].arrived, 0, sizeof(uint32_t) * owned, all[g].open.stream));
      CUDA_CHECK(cudaMemsetAsync(all[g].c, 0xff, kTileBytes * owned, all[g].open.stream));
      CUDA_CHECK(cudaStreamSynchronize(all[g].open.stream));
    }
    for (int g = 0; g < gpus; ++g) {
      CUDA_CHECK(cudaSetDevice(g));
      launch_evict_l2(all[g].open.stream, all[g].zeros, all[g].open.sms);
      Gate gate{nullptr, {}};
      for (int p = 0; p < gpus; ++p) gate.ready[p] = all[p].gate;
      launch_gate(all[g].open.stream, start, gate, g, gpus, uint32_t(run + 1), all[g].gave_up);
      gemm_put_kernel<<<grid, kThreads, kLds, all[g].open.stream>>>(arguments[g]);
      CUDA_CHECK(cudaGetLastError());
    }
    *start = uint32_t(run + 1);
    for (int g = 0; g < gpus; ++g) {
      CUDA_CHECK(cudaSetDevice(g));
      CUDA_CHECK(cudaStreamSynchronize(all[g].open.stream));
      int gave_up = 0;
      CUDA_CHECK(cudaMemcpy(&gave_up, all[g].gave_up, sizeof gave_up, cudaMemcpyDeviceToHost));
      if (gave_up != 0) {
        std::fprintf(stderr, "GPU %d: a wait timed out\n", g);
        return 1;
      }
      if (alone) continue;
      const int own = (tiles - g + gpus - 1) / gpus;
      std::vector<float> c(size_t(own) * kTile * kTile);
      CUDA_CHECK(cudaMemcpy(c.data(), all[g].c, sizeof(float) * c.size(), cudaMemcpyDeviceToHost));
      const double error = run == 0 || run + 1 == runs ? worst_error(arguments[g], c, seed_a, seed_b) : 0;
      if (!(error < 0.05)) {
        std::fprintf(stderr, "GPU %d: the result is off by %g\n", g, error);
        return 1;
      }
    }
    lengths.push_back(recorder.write(out + "." + std::to_string(run), description));
  }
  std::vector<long long> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  const auto kept = std::find(lengths.begin(), lengths.end(), sorted[sorted.size() / 2]) - lengths.begin();
  for (int run = 0; run < runs; ++run) {
    const std::string name = out + "." + std::to_string(run);
    if (run == kept ? std::rename(name.c_str(), out.c_str()) != 0 : std::remove(name.c_str()) != 0) std::perror(name.c_str());
  }
  std::printf("%d GPUs, %d x %d x %d, %d tiles, %d workgroups, %d registers: %lld ns (of %d runs %lld to %lld)\n", gpus, m, n,
              k, tiles, grid, attributes.numRegs, sorted[sorted.size() / 2], runs, sorted.front(), sorted.back());
  return 0;
}
