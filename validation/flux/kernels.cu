#include "cuda_check.hpp"
#include "hopper.cuh"
#include "kernels.hpp"

namespace {

using moire_record::Unit;

constexpr int kStages = 4;
constexpr int kConsumers = 2;  // two warpgroups compute, each 64 rows of a tile; the third one loads
constexpr int kBlock = 128 * (kConsumers + 1);
constexpr int kReduceThreads = 512;
constexpr int kHalfRows = kTileRows / kConsumers;
constexpr uint32_t kStageA = kTileRows * kTileDepth * 2, kStageB = kTileColumns * kTileDepth * 2;
constexpr int kStoreColumns = 64;  // rows of 128 bytes, with swizzle
constexpr uint32_t kStoreBuffer = kHalfRows * kStoreColumns * 2;
constexpr int kStoreBuffers = 2;  // of a consumer
constexpr uint32_t kSharedB = kStages * kStageA, kSharedStores = kSharedB + kStages * kStageB;
constexpr uint32_t kSharedBarriers = kSharedStores + kConsumers * kStoreBuffers * kStoreBuffer;
constexpr uint32_t kSharedBytes = kSharedBarriers + 128 + 1024;  // includes room to align the first buffer

__device__ inline uint32_t full_barrier(uint32_t base, int stage) { return base + kSharedBarriers + 8 * stage; }
__device__ inline uint32_t empty_barrier(uint32_t base, int stage) { return full_barrier(base, kStages + stage); }

struct Slot {
  int stage = 0;
  uint32_t phase = 0;
  __device__ void next() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

__device__ inline uint32_t pair(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// Waits until the rows of A that the tile at row `row` needs have arrived, if `waits` is true. Returns false if `waits`
// is false or the wait timed out.
__device__ inline bool wait_for_rows(const GemmArguments& args, int row, bool waits) {
  const int last = min(row + kTileRows, args.m) - 1;
  for (int chunk = row / args.chunk_rows; waits && chunk <= last / args.chunk_rows; ++chunk)
    if (chunk * args.chunk_rows / args.block_rows != args.rank)
      waits = wait_for_flag(args.flags + chunk, args.flag_value, args.gave_up);
  asm volatile("fence.proxy.async;" ::: "memory");  // the TMA, which loads A, must see rows that flags cover
  return waits;
}

template <Way kWay>
__device__ void load_tiles(const GemmArguments& args, uint32_t base, int workgroups) {
  Slot slot;
  bool waits = true;
  for (int number = int(blockIdx.x); number < args.order.tiles() * args.repeats; number += workgroups) {
    const TileAt at = args.order.at(number % args.order.tiles());
    const int row = at.row * kTileRows, column = at.column * kTileColumns;
    if constexpr (kWay == Way::gather) waits = wait_for_rows(args, row, waits);
    for (int depth = 0; depth < args.k; depth += kTileDepth) {
      const uint32_t full = full_barrier(base, slot.stage);
      barrier_wait(empty_barrier(base, slot.stage), slot.phase ^ 1);
      barrier_expect(full, kStageA + kStageB);
      tile_load(base + slot.stage * kStageA, args.a, depth, row, full);
      tile_load(base + kSharedB + slot.stage * kStageB, args.b, depth, column, full);
      slot.next();
    }
  }
}

// Computes the products of a tile in `d`. One group of wgmma instructions stays in flight while the next one is issued,
// so that the tensor cores do not wait for a barrier.
__device__ inline void multiply(const GemmArguments& args, uint32_t base, int consumer, bool elected, Slot& slot,
                                float (&d)[128]) {
  int before = 0;
  __syncwarp();  // waits for the thread that alone stored the previous tile
  for (int depth = 0; depth < args.k; depth += kTileDepth) {
    barrier_wait(full_barrier(base, slot.stage), slot.phase);
    const uint64_t a = matrix_descriptor(base + slot.stage * kStageA + consumer * (kStageA / kConsumers));
    const uint64_t b = matrix_descriptor(base + kSharedB + slot.stage * kStageB);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kTileDepth / 16; ++step)
      wgmma_64x256x16(d, a + step * 2, b + step * 2, depth + step != 0);  // a step of 16 values of k is 32 bytes
    wgmma_commit();
    wgmma_wait<1>();
    if (elected && depth > 0) barrier_arrive(empty_barrier(base, before));
    before = slot.stage;
    slot.next();
  }
  wgmma_wait<0>();
  if (elected) barrier_arrive(empty_barrier(base, before));
}

template <Way kWay>
__device__ inline void store_columns(const GemmArguments& args, uint32_t from, int row, int column) {
  for (int part = 0; part < kHalfRows && row + part < args.m; part += args.store_rows) {
    const uint32_t lines = from + uint32_t(part) * kStoreColumns * 2;
    if constexpr (kWay == Way::local || kWay == Way::gather) {
      tile_store(args.c[0], column, row + part, lines);
    } else {
      const int owner = (row + part) / args.block_rows, inside = (row + part) % args.block_rows;
      if constexpr (kWay == Way::store)
        tile_store(args.c[owner], column, inside, lines);
      else
        tile_add(args.c[owner], column, inside, lines);
    }
  }
  stores_commit();
}

// Rounds the 64 x 256 sums of a consumer (a warpgroup that computes) to bf16, and stores them 64 columns at a time
// through two buffers in shared memory.
template <Way kWay>
__device__ inline void store_tile(const GemmArguments& args, uint32_t base, int consumer, bool elected, int row,
                                  int column, const float (&d)[128]) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) % 128 / 32;
  // stmatrix stores four 8 x 8 matrices, and lane l states the address of row l % 8 of matrix l / 8. Matrices 0 and 1
  // are rows 0 to 7 and 8 to 15; matrices 2 and 3 are the same rows of the next 8 columns.
  const uint32_t line = uint32_t(warp * 16 + lane % 8 + lane / 8 % 2 * 8) * (kStoreColumns * 2);
  const uint32_t swizzle = uint32_t(lane % 8), piece = uint32_t(lane / 16);
#pragma unroll
  for (int group = 0; group < kTileColumns / kStoreColumns; ++group) {
    const uint32_t buffer =
        base + kSharedStores + uint32_t(consumer * kStoreBuffers + group % kStoreBuffers) * kStoreBuffer;
    if (elected) stores_wait_read<kStoreBuffers - 1>();
    warpgroup_sync(consumer);
#pragma unroll
    for (int j = 0; j < kStoreColumns / 16; ++j) {
      const float* sums = d + (group * 8 + j * 2) * 4;
      const uint32_t to = buffer + line + (((uint32_t(j) * 2 + piece) ^ swizzle) << 4);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                   "r"(pair(sums[0], sums[1])), "r"(pair(sums[2], sums[3])), "r"(pair(sums[4], sums[5])),
                   "r"(pair(sums[6], sums[7]))
                   : "memory");
    }
    fence_shared_for_copies();
    warpgroup_sync(consumer);
    if (elected) store_columns<kWay>(args, buffer, row, column + group * kStoreColumns);
  }
}

// Raises a tile's counter at every GPU that owns rows of the tile. One thread of each of the two consumers calls this
// function when its stores have been written, and the second call raises the counters.
template <Way kWay>
__device__ inline void count_tile(const GemmArguments& args, uint32_t base, const TileAt& at) {
  uint32_t before;
  asm volatile("atom.acq_rel.cta.shared::cta.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "r"(base + kSharedBarriers + 16 * kStages)
               : "memory");
  if (before % 2 == 0) return;
  fence_sys();
  const int row = at.row * kTileRows, last = min(row + kTileRows, args.m) - 1;
  for (int owner = row / args.block_rows; owner <= last / args.block_rows; ++owner) {
    uint32_t* counter = args.counter[owner] + (kWay == Way::store ? at.row * args.order.columns + at.column : 0);
    asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
  }
}

template <Way kWay, bool kTraced>
__device__ void compute_tiles(const GemmArguments& args, uint32_t base, int workgroups) {
  constexpr bool kCounts = kWay == Way::store || kWay == Way::add;
  const int consumer = int(threadIdx.x) / 128;
  const bool elected = threadIdx.x % 128 == 0;
  Slot slot;
  TileAt pending{-1, 0};
  float d[128];
  for (int number = int(blockIdx.x); number < args.order.tiles() * args.repeats; number += workgroups) {
    const TileAt at = args.order.at(number % args.order.tiles());
    const int row = at.row * kTileRows, column = at.column * kTileColumns;
    uint64_t since = 0;
    const int task = at.row * args.order.columns + at.column;
    int owner = args.rank;
    if constexpr (kTraced) {
      if (kCounts) owner = row / args.block_rows;
      since = MOIRE_NOW();
      if (kWay == Way::gather && row / args.block_rows != args.rank) {
        if (threadIdx.x == 0) wait_for_rows(args, row, true);
        const int chunk = (min(row + kTileRows, args.m) - 1) / args.chunk_rows;
        MOIRE_WAIT(args.log, since, task, args.rank, chunk, 1);
        since = MOIRE_NOW();
      }
    }
    multiply(args, base, consumer, elected, slot, d);
    if constexpr (kTraced) {
      MOIRE_WORK(args.log, since, task, args.rank, uint64_t(kTileRows + kTileColumns) * args.k * 2,
                 uint64_t(2) * kTileRows * kTileColumns * args.k, Unit::matrix_bf16);
      since = MOIRE_NOW();
    }
    if (kCounts && elected && pending.row >= 0) {
      stores_wait();
      count_tile<kWay>(args, base, pending);
    }
    store_tile<kWay>(args, base, consumer, elected, row + consumer * kHalfRows, column, d);
    if constexpr (kTraced) {
      MOIRE_STORE(args.log, since, task, owner, uint64_t(kTileRows) * kTileColumns * 2);
      since = MOIRE_NOW();
    }
    if constexpr (!kCounts) continue;
    if (args.late) {
      pending = at;
    } else if (elected) {
      stores_wait();
      if constexpr (kTraced) MOIRE_FENCE(args.log, since, task, args.rank);
      if constexpr (kTraced) since = MOIRE_NOW();
      count_tile<kWay>(args, base, at);
      if constexpr (kTraced) MOIRE_SIGNAL(args.log, since, task, owner, kWay == Way::store ? task : 0);
    }
  }
  if (!elected) return;
  stores_wait();
  if (kCounts && pending.row >= 0) count_tile<kWay>(args, base, pending);
}

// Stores this rank's rows of A to every peer, chunk by chunk. Rank - 1 is the first peer, because it computes with
// these rows directly after its own rows.
__device__ void push_rows(const GemmArguments& args, int pusher) {
  constexpr int kUnroll = 8;
  const int64_t vectors = int64_t{args.chunk_rows} * args.k / 8, step = int64_t{args.pushers} * kBlock;
  const int chunks = args.block_rows / args.chunk_rows;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int number = args.rank * chunks + chunk;
    const auto* from = reinterpret_cast<const float4*>(args.own_a) + number * vectors;
    for (int p = 1; p < args.ranks; ++p) {
      const int peer = (args.rank + args.ranks - p) % args.ranks;
      auto* to = reinterpret_cast<float4*>(args.peer_a[peer]) + number * vectors;
      for (int64_t i = int64_t{pusher} * kBlock + threadIdx.x; i < vectors; i += step * kUnroll) {
        float4 piece[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u)
          if (i + u * step < vectors) piece[u] = load_streaming(from + i + u * step);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u)
          if (i + u * step < vectors) to[i + u * step] = piece[u];
      }
      __syncthreads();
      if (threadIdx.x != 0) continue;
      fence_sys();
      asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(args.peer_flags[peer] + number) : "memory");
    }
  }
}

template <Way kWay, bool kTraced>
__global__ void __launch_bounds__(kBlock, 1) gemm_kernel(const __grid_constant__ GemmArguments args) {
  extern __shared__ uint8_t raw[];
  const uint32_t base = (shared_address(raw) + 1023) & ~1023U;
  const int workgroups = int(gridDim.x) - args.pushers;
  const long long cycles = clock64();
  const uint64_t began = global_ns();
  if (threadIdx.x == 0) {
    prefetch_map(args.a);
    prefetch_map(args.b);
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(full_barrier(base, stage), 1);
      barrier_init(empty_barrier(base, stage), kConsumers);
    }
    asm volatile("st.shared.u32 [%0], 0;" ::"r"(base + kSharedBarriers + 16 * kStages) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
  if constexpr (kWay == Way::gather) {
    if (int(blockIdx.x) >= workgroups) {
      push_rows(args, int(blockIdx.x) - workgroups);
      return;
    }
  }
  if (threadIdx.x >= 128 * kConsumers) {
    leave_registers<40>();
    if (threadIdx.x == 128 * kConsumers) load_tiles<kWay>(args, base, workgroups);
    return;
  }
  take_registers<232>();
  compute_tiles<kWay, kTraced>(args, base, workgroups);
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  if constexpr (kWay == Way::add) {
    const uint64_t since = global_ns();
    wait_for_flag(args.counter[args.rank], args.expected, args.gave_up);
    if constexpr (kTraced) MOIRE_WAIT(args.log, since, -1, args.rank, 0, args.expected);
  }
  args.clock[0] = uint64_t(clock64() - cycles);
  args.clock[1] = global_ns() - began;
}

// Adds up the parts of this rank's tiles that all ranks have stored, tile by tile, in the order in which the ranks
// compute the tiles. 32 threads process a line of 256 columns, 16 bytes each. A thread loads its 16 bytes of every
// rank's part before it adds them.
__global__ void __launch_bounds__(kReduceThreads) reduce_kernel(ReduceArguments args) {
  constexpr int kLines = kReduceThreads / 32;
  __shared__ bool waits;
  if (threadIdx.x == 0) waits = true;
  const int first_row = args.rank * args.block_rows, first = first_row / kTileRows;
  const int rows = (first_row + args.block_rows - 1) / kTileRows - first + 1;
  const int64_t share = int64_t{args.block_rows} * args.n;
  for (int number = int(blockIdx.x); number < rows * args.order.columns; number += int(gridDim.x)) {
    const TileAt in = TileOrder::in_segment(number, rows, args.order.columns);
    const int row = first + in.row;
    __syncthreads();
    if (threadIdx.x == 0 && waits)
      waits = wait_for_flag(args.counter + row * args.order.columns + in.column, uint32_t(args.ranks), args.gave_up);
    __syncthreads();
    const int begin = max(row * kTileRows, first_row) - first_row;
    const int end = min((row + 1) * kTileRows, first_row + args.block_rows) - first_row;
    const int column = in.column * kTileColumns + int(threadIdx.x) % 32 * 8;
    for (int line = begin + int(threadIdx.x) / 32; line < end; line += kLines) {
      const int64_t at = int64_t{line} * args.n + column;
      uint4 piece[kMaxRanks];
      float sum[8] = {};
#pragma unroll
      for (int source = 0; source < kMaxRanks; ++source)
        piece[source] = source < args.ranks ? __ldcg(reinterpret_cast<const uint4*>(args.parts + source * share + at))
                                            : make_uint4(0, 0, 0, 0);
#pragma unroll
      for (int source = 0; source < kMaxRanks; ++source) {
        const uint32_t words[] = {piece[source].x, piece[source].y, piece[source].z, piece[source].w};
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          sum[2 * w] += __uint_as_float(words[w] << 16);
          sum[2 * w + 1] += __uint_as_float(words[w] & 0xffff0000U);
        }
      }
      *reinterpret_cast<uint4*>(args.out + at) =
          make_uint4(pair(sum[0], sum[1]), pair(sum[2], sum[3]), pair(sum[4], sum[5]), pair(sum[6], sum[7]));
    }
  }
}

using Kernel = void (*)(const GemmArguments);

Kernel kernel_of(Way way, bool traced) {
  switch (way) {
    case Way::local:
      return traced ? gemm_kernel<Way::local, true> : gemm_kernel<Way::local, false>;
    case Way::store:
      return traced ? gemm_kernel<Way::store, true> : gemm_kernel<Way::store, false>;
    case Way::add:
      return traced ? gemm_kernel<Way::add, true> : gemm_kernel<Way::add, false>;
    default:
      return traced ? gemm_kernel<Way::gather, true> : gemm_kernel<Way::gather, false>;
  }
}

}  // namespace

void prepare_kernels() {
  for (const Way way : {Way::local, Way::store, Way::add, Way::gather})
    for (const bool traced : {false, true})
      CUDA_CHECK(
          cudaFuncSetAttribute(kernel_of(way, traced), cudaFuncAttributeMaxDynamicSharedMemorySize, int(kSharedBytes)));
}

void launch_gemm(Way way, bool traced, const GemmArguments& arguments, int workgroups, cudaStream_t stream) {
  kernel_of(way, traced)<<<workgroups, kBlock, kSharedBytes, stream>>>(arguments);
  CUDA_CHECK(cudaGetLastError());
}

void describe_gemm(Way way, moire_record::Kernel& kernel) {
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel_of(way, true)));
  kernel.threads = kBlock;
  kernel.registers = attributes.numRegs;
  kernel.lds_bytes = static_cast<long long>(kSharedBytes + attributes.sharedSizeBytes);
  kernel.bytes_in_flight = static_cast<long long>(kStages) * (kStageA + kStageB);
}

void launch_reduce(const ReduceArguments& arguments, int workgroups, cudaStream_t stream) {
  reduce_kernel<<<workgroups, kReduceThreads, 0, stream>>>(arguments);
  CUDA_CHECK(cudaGetLastError());
}
