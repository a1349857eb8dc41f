// The kernels of the fused embedding + All-to-All and of its bulk-synchronous counterpart.
//
// Memory layouts (pieces of 16 bytes; a row has row_vectors of them):
//   tables   [local table][row][dim]                     of this GPU
//   indices  [local table][global sample][pooling]       int32
//   staging  [destination][local table][own sample][dim]  unfused kernel, for NCCL and copy engines
//            [destination][own sample][local table][dim]  unfused kernel, for the copy by SMs
//   output   [own sample][global table][dim]             fused kernel and SM copy: sample-major
//            [source][local table][own sample][dim]      NCCL and copy engines: table-major
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device_clock.cuh"
#include "gate.hpp"
#include "records.hpp"
#include "shape.hpp"

struct FusedArguments {
  Shape shape;
  int rank;
  Order order;
  bool start_barrier;  // all WGs of all GPUs wait for each other before the first task
  const uint4* tables;
  const int* indices;
  uint4* output[kMaxRanks];
  // flags[p] is on GPU p: [source][wg]. A flag is set to `epoch` when WG `wg` of `source` has stored its last vector
  // for p.
  uint32_t* flags[kMaxRanks];
  uint32_t epoch;  // different in every run, so the flags need not be reset
  Gate gate;
  TaskRecord* tasks;  // [task id]
  WaitRecord* waits;  // [peer][wg]
  WgRecord* wgs;      // [wg]
  int* gave_up;
};

struct UnfusedArguments {
  Shape shape;
  Layout layout;  // of a destination's share
  const uint4* tables;
  const int* indices;
  uint4* staging;
  TaskRecord* tasks;  // [task id]
};

struct CopyArguments {
  Shape shape;
  int rank;
  const uint4* staging;
  uint4* output[kMaxRanks];
};

// Functions for the 16-byte pieces of a row: how many elements a piece has, how it is added to fp32 sums, and how sums
// are rounded.
template <Dtype kDtype>
struct Piece {
  static constexpr int kElements = 16 / bytes_of(kDtype);
  using Sum = float[kElements];

  __device__ static void add(Sum& sum, const uint4& piece) {
    const uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      if constexpr (kDtype == Dtype::fp32) {
        sum[w] += __uint_as_float(words[w]);
      } else if constexpr (kDtype == Dtype::bf16) {
        sum[2 * w] += __uint_as_float(words[w] << 16);
        sum[2 * w + 1] += __uint_as_float(words[w] & 0xffff0000U);
      } else {
        const __half2_raw raw{uint16_t(words[w] & 0xffffU), uint16_t(words[w] >> 16)};
        const float2 pair = __half22float2(__half2(raw));
        sum[2 * w] += pair.x;
        sum[2 * w + 1] += pair.y;
      }
    }
  }

  __device__ static uint4 rounded(const Sum& sum) {
    uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      if constexpr (kDtype == Dtype::fp32) {
        words[w] = __float_as_uint(sum[w]);
      } else if constexpr (kDtype == Dtype::bf16) {
        words[w] = uint32_t(__bfloat16_as_ushort(__float2bfloat16_rn(sum[2 * w]))) |
                   uint32_t(__bfloat16_as_ushort(__float2bfloat16_rn(sum[2 * w + 1]))) << 16;
      } else {
        words[w] = uint32_t(__half_as_ushort(__float2half_rn(sum[2 * w]))) |
                   uint32_t(__half_as_ushort(__float2half_rn(sum[2 * w + 1]))) << 16;
      }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
};

// Returns the minimum of WGs per SM for __launch_bounds__. It leaves 64 or 80 registers per thread, enough for the sums
// and exactly one batch of loads. With fewer registers the compiler would wait for the first loads before it issues the
// last ones; more registers gain nothing.
__host__ __device__ constexpr int wgs_per_sm_of(Dtype dtype, int bags) {
  return bags * (16 / bytes_of(dtype)) <= 8 ? 4 : 3;
}

// Loads 16 bytes of a row. A row is read only once, so its load should not evict other lines from the L1. This hint also
// lets the L2 evict the line first. The program fused_embedding_ordinary loads without it, and past the L1 as well.
__device__ inline uint4 load_piece(const uint4* p) {
#ifdef MOIRE_ORDINARY_LOADS
  return __ldcg(p);
#endif
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

// Returns threadIdx.x, read again after a compiler fence. Values that follow from it are then computed after the gather
// of a task, and do not occupy registers during the gather.
__device__ inline int fresh_tid() {
  int tid;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(tid)::"memory");
  return tid;
}

// Returns log2 of the 16-byte vectors in a row, a power of two. Threads are assigned to rows by this shift.
__device__ inline int row_shift_of(const Shape& s) { return 31 - __clz(s.row_vectors()); }

struct Place {
  int group;   // group of threads that the thread belongs to
  int column;  // index of its 16-byte piece of a row
};
__device__ inline Place place_of(int tid, int row_shift) { return {tid >> row_shift, tid & ((1 << row_shift) - 1)}; }

// Adds the next rows of kBags bags to `sum`: kLoadsInFlight / kBags rows of each bag, or its last `left` rows if kFull
// is false. Additions begin with the row that was requested last, and the compiler does not reorder float additions. So
// all loads are issued before the first addition.
template <Dtype kDtype, int kBags, bool kFull>
__device__ inline void pool_batch(const uint4* table, const uint32_t* rows, int bag_stride, int left,
                                  typename Piece<kDtype>::Sum (&sum)[kBags]) {
  constexpr int kUnroll = kLoadsInFlight / kBags;
  uint4 piece[kBags][kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
    for (int b = 0; b < kBags; ++b) {
      piece[b][u] = make_uint4(0, 0, 0, 0);  // 0 in every dtype
      if (kFull || u < left) piece[b][u] = load_piece(table + rows[b * bag_stride + u]);
    }
  }
  __syncwarp();  // keeps the compiler from waiting for the first rows before it has requested the last ones
#pragma unroll
  for (int u = kUnroll - 1; u >= 0; --u) {
#pragma unroll
    for (int b = kBags - 1; b >= 0; --b) Piece<kDtype>::add(sum[b], piece[b][u]);
  }
}

// Sums the rows of the kBags bags that this thread's group handles in one task (bags group, group + groups, ...).
// `table` points to the thread's 16-byte column in row 0 of the table, `rows` to the indices of the group's first bag.
template <Dtype kDtype, int kBags>
__device__ inline void pool_bags(int pooling, const uint4* table, const uint32_t* rows, int bag_stride,
                                 typename Piece<kDtype>::Sum (&sum)[kBags]) {
  constexpr int kUnroll = kLoadsInFlight / kBags;
#pragma unroll
  for (int b = 0; b < kBags; ++b) {
#pragma unroll
    for (int e = 0; e < Piece<kDtype>::kElements; ++e) sum[b][e] = 0;
  }
  int left = pooling;
#pragma unroll 1  // if the compiler unrolled it further, the bytes in flight would change
  for (; left >= kUnroll; left -= kUnroll, rows += kUnroll)
    pool_batch<kDtype, kBags, true>(table, rows, bag_stride, left, sum);
  if (left != 0) pool_batch<kDtype, kBags, false>(table, rows, bag_stride, left, sum);
}

__device__ inline const int* first_index(const Shape& s, const int* indices, const Task& task) {
  return indices + (int64_t(task.table) * s.global_batch + task.first_sample) * s.pooling;
}

__device__ inline int64_t table_vectors(const Shape& s) { return int64_t(s.rows_per_table) * s.row_vectors(); }

// Copies a task's row indices, which are contiguous, from HBM to shared memory. There an index becomes the row's
// distance from the start of the table in 16-byte vectors, so that the gather needs one multiply-add per address.
__device__ inline void stage_indices(const int* from, int count, int row_shift, int tid, uint32_t* bag_rows) {
#pragma unroll 1
  for (int i = tid * 4; i < count; i += kThreads * 4) {
    const int4 rows = __ldg(reinterpret_cast<const int4*>(from + i));
    *reinterpret_cast<uint4*>(bag_rows + i) = make_uint4(uint32_t(rows.x) << row_shift, uint32_t(rows.y) << row_shift,
                                                         uint32_t(rows.z) << row_shift, uint32_t(rows.w) << row_shift);
  }
}

// Waits until every WG of every GPU has called this function. All WGs are resident at the same time, because the grid
// is not larger than the GPU can hold, so the wait ends.
__device__ inline void start_together(const FusedArguments& a) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(a.gate.arrived, 1U);
    if (blockIdx.x == 0) {
      wait_for_flag(a.gate.arrived, gridDim.x, a.gave_up);
      fence_sys();  // one fence for all flags: with a release per flag, each flag would wait for one more fence
      for (int p = 0; p < a.shape.ranks; ++p) store_relaxed_sys(a.gate.ready[p] + a.rank, a.epoch);
    }
    for (int p = 0; p < a.shape.ranks; ++p) wait_for_flag(a.gate.ready[a.rank] + p, a.epoch, a.gave_up);
  }
  __syncthreads();
}

// What the threads of a WG need to know about a task of the fused kernel. It is kept in shared memory.
struct Work {
  Task task;
  int position;
  const int* indices;  // indices of the task's first bag
  const uint4* table;
  uint4* out;  // column 0 of its first sample
};

// Values that are constant during a launch. They are kept in shared memory; otherwise the compiler would keep them in
// registers during every gather.
struct WgConstants {
  int tasks;
  int task_indices;
  int row_shift;
  int bag_stride;      // distance from a group's bag to the group's next bag, in indices
  int sample_vectors;  // distance from a sample to the next sample in the output, in 16-byte vectors
};

__device__ inline void decode(const FusedArguments& a, int position, int tasks, Work& work) {
  const Shape& s = a.shape;
  work.position = position;
  if (position >= tasks) return;
  const Task task = s.task_at(position, a.rank, a.order);
  const int first = task.first_sample - task.destination * s.samples_per_rank();
  const int global_table = a.rank * s.tables_per_gpu + task.table;
  work.task = task;
  work.indices = first_index(s, a.indices, task);
  work.table = a.tables + task.table * table_vectors(s);
  work.out = a.output[task.destination] + first * s.sample_stride(Layout::sample_major, s.global_tables()) +
             int64_t(global_table) * s.row_vectors();
}

// The fused kernel. It is persistent: the grid has as many WGs as the GPU can hold, and WG w does the tasks at
// positions w, w + grid, w + 2 x grid, and so on. If kRecord is true, it takes time stamps and has a barrier between
// sums and stores. Otherwise a warp issues its stores as soon as its own sums are complete.
template <Dtype kDtype, int kBags, bool kRecord>
__global__ void __launch_bounds__(kThreads, wgs_per_sm_of(kDtype, kBags))
    fused_kernel(const __grid_constant__ FusedArguments a) {
  extern __shared__ __align__(16) uint32_t bag_rows[];  // [bag of the task][slot]
  __shared__ int remaining[kMaxRanks];                  // remaining tasks of this WG, by destination
  __shared__ Work work[2];  // this task and the next one, which one thread decodes while the others load indices
  __shared__ WgConstants constants;
  // Time stamps are kept in shared memory. In registers they would leave too little space for a whole batch of loads.
  __shared__ TaskRecord record;
  __shared__ WgRecord own;
  constexpr int kDecoder = kThreads - 1;  // the thread that decodes tasks; its warp loads the fewest indices
  const Shape& s = a.shape;
  int tid = int(threadIdx.x);
  const int wg = int(blockIdx.x);
  const int grid = int(gridDim.x);
  const int tasks = s.tasks();

  if (kRecord && tid == 0) {
    own.entry_ns = global_ns();
    own.sm = sm_id();
    own.tasks = 0;
    record.wg = uint32_t(wg);
    record.sm = own.sm;
  }
  if (tid < s.ranks) remaining[tid] = 0;
  __syncthreads();
  // Counts the WG's tasks by destination. The threads share the positions, because a single thread would take several
  // microseconds.
  for (int position = wg + tid * grid; position < tasks; position += grid * kThreads)
    atomicAdd(&remaining[s.task_at(position, a.rank, a.order).destination], 1);
  if (tid == kDecoder) {
    constants = {tasks, s.bags_per_task * s.pooling, row_shift_of(s), s.groups() * s.pooling,
                 int(s.sample_stride(Layout::sample_major, s.global_tables()))};
    decode(a, wg, tasks, work[0]);
  }
  __syncthreads();
  if (a.start_barrier) start_together(a);
  if (kRecord && tid == 0) own.released_ns = global_ns();
  // A WG that has no task for a peer raises its flag at this peer now, because the peer waits for the flags of all WGs.
  if (tid < s.ranks && tid != a.rank && remaining[tid] == 0)
    store_release_sys(a.flags[tid] + a.rank * grid + wg, a.epoch);

  // The batch of loads and the sums leave few registers. So only `turn` and the arguments of pool_bags() are kept in
  // registers during pool_bags().
  for (int turn = 0; work[turn].position < constants.tasks; turn ^= 1) {
    tid = fresh_tid();
    if (kRecord && tid == 0) record.start_ns = global_ns();
    stage_indices(work[turn].indices, constants.task_indices, constants.row_shift, tid, bag_rows);
    if (tid == kDecoder) decode(a, work[turn].position + int(gridDim.x), constants.tasks, work[turn ^ 1]);
    __syncthreads();

    const Place from = place_of(tid, constants.row_shift);
    typename Piece<kDtype>::Sum sum[kBags];
    pool_bags<kDtype, kBags>(s.pooling, work[turn].table + from.column, bag_rows + from.group * s.pooling,
                             constants.bag_stride, sum);
    tid = fresh_tid();
    if (kRecord) {
      __syncthreads();
      if (tid == 0) record.compute_end_ns = global_ns();
    }

    // a copy, because after the barrier the decoder may overwrite this entry with the task after the next one
    const Task task = work[turn].task;
    const Place to = place_of(tid, constants.row_shift);
    uint4* out = work[turn].out + to.column;
#pragma unroll
    for (int b = 0; b < kBags; ++b) {
      const int sample = to.group + b * (kThreads >> constants.row_shift);
      out[sample * int64_t{constants.sample_vectors}] = Piece<kDtype>::rounded(sum[b]);
    }
    __syncthreads();  // all stores are issued, and bag_rows is free for the next task
    if (tid == 0) {
      if (kRecord) {
        record.end_ns = global_ns();
        a.tasks[task.id] = record;
        ++own.tasks;
      }
      // The release makes the stores of the whole WG, which the barrier above orders before it, visible before the
      // flag. If memory or links are busy, the release takes microseconds, and the WG's next task starts after it.
      if (task.destination != a.rank && --remaining[task.destination] == 0)
        store_release_sys(a.flags[task.destination] + a.rank * grid + wg, a.epoch);
    }
  }

  // WG w polls the flags that WG w of every peer raises on this GPU, one warp per peer. Together, the WGs poll all
  // flags.
  const int peer = tid / 32;
  if (tid % 32 == 0 && peer < s.ranks && peer != a.rank) {
    WaitRecord wait{};
    if (kRecord) wait.start_ns = global_ns();
    wait_for_flag(a.flags[a.rank] + peer * grid + wg, a.epoch, a.gave_up);
    if (kRecord) {
      wait.end_ns = global_ns();
      a.waits[peer * grid + wg] = wait;
    }
  }
  if (kRecord) {
    __syncthreads();
    if (tid == 0) {
      own.last_end_ns = record.end_ns;
      own.end_ns = global_ns();
      a.wgs[wg] = own;
    }
  }
}

// Pools all tasks without an exchange. The grid has one WG per task, which the hardware dispatches in natural order;
// the results are stored to local memory.
template <Dtype kDtype, int kBags, bool kRecord>
__global__ void __launch_bounds__(kThreads, wgs_per_sm_of(kDtype, kBags))
    unfused_kernel(const __grid_constant__ UnfusedArguments a) {
  extern __shared__ __align__(16) uint32_t bag_rows[];
  __shared__ WgConstants constants;
  __shared__ uint4* first_out;  // column 0 of the task's first sample
  __shared__ TaskRecord record;
  const Shape& s = a.shape;
  int tid = int(threadIdx.x);
  if (kRecord && tid == 0) {
    record.start_ns = global_ns();
    record.wg = blockIdx.x;
    record.sm = sm_id();
  }
  const Task task = s.task_at(int(blockIdx.x), 0, Order::natural);
  const int row_shift = row_shift_of(s);
  stage_indices(first_index(s, a.indices, task), s.bags_per_task * s.pooling, row_shift, tid, bag_rows);
  if (tid == 0) {
    const int64_t share_vectors = int64_t(s.samples_per_rank()) * s.tables_per_gpu * s.row_vectors();
    const int first = task.first_sample - task.destination * s.samples_per_rank();
    constants.row_shift = row_shift;
    constants.bag_stride = s.groups() * s.pooling;
    constants.sample_vectors = int(s.sample_stride(a.layout, s.tables_per_gpu));
    first_out = a.staging + task.destination * share_vectors + task.table * s.table_stride(a.layout) +
                first * int64_t{constants.sample_vectors};
  }
  __syncthreads();
  const Place from = place_of(tid, row_shift);
  typename Piece<kDtype>::Sum sum[kBags];
  pool_bags<kDtype, kBags>(s.pooling, a.tables + task.table * table_vectors(s) + from.column,
                           bag_rows + from.group * s.pooling, constants.bag_stride, sum);
  tid = fresh_tid();
  if (kRecord) {
    __syncthreads();
    if (tid == 0) record.compute_end_ns = global_ns();
  }

  const Place to = place_of(tid, constants.row_shift);
  uint4* out = first_out + to.column;
#pragma unroll
  for (int b = 0; b < kBags; ++b) {
    const int sample = to.group + b * (kThreads >> constants.row_shift);
    out[sample * int64_t{constants.sample_vectors}] = Piece<kDtype>::rounded(sum[b]);
  }
  if (kRecord) {
    __syncthreads();
    if (tid == 0) {
      record.end_ns = global_ns();
      a.tasks[blockIdx.x] = record;  // in natural order, a task's number (its index in `tasks`) is its position
    }
  }
}

// The All-to-All by SMs: loads from sample-major staging buffers and stores to the owners' outputs. Each rank starts
// with another peer, so that no two ranks send to one receiver; the block for the rank itself comes last.
__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ CopyArguments a) {
  constexpr int kUnroll = 4;
  const Shape& s = a.shape;
  const int sample_vectors = s.tables_per_gpu * s.row_vectors();  // contiguous both in staging and in the output
  const int block_vectors = s.samples_per_rank() * sample_vectors;
  for (int turn = 1; turn <= s.ranks; ++turn) {
    const int destination = (a.rank + turn) % s.ranks;
    const uint4* from = a.staging + int64_t(destination) * block_vectors;
    uint4* to = a.output[destination] + int64_t(a.rank) * sample_vectors;
    for (int base = int(blockIdx.x) * kThreads * kUnroll; base < block_vectors;
         base += int(gridDim.x) * kThreads * kUnroll) {
      uint4 piece[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int i = base + u * kThreads + int(threadIdx.x);
        if (i < block_vectors) piece[u] = from[i];
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int i = base + u * kThreads + int(threadIdx.x);
        if (i < block_vectors)
          to[int64_t(i / sample_vectors) * s.ranks * sample_vectors + i % sample_vectors] = piece[u];
      }
    }
  }
}

// Returns the bits of an element of type `dtype`: 16 or 32. The conversion is exact.
__device__ inline uint32_t bits_of(Dtype dtype, float value) {
  return dtype == Dtype::fp32   ? __float_as_uint(value)
         : dtype == Dtype::fp16 ? uint32_t(__half_as_ushort(__float2half_rn(value)))
                                : uint32_t(__bfloat16_as_ushort(__float2bfloat16_rn(value)));
}

__global__ void fill_tables(Shape s, int rank, uint4* tables) {
  const int64_t vectors = int64_t(s.tables_per_gpu) * s.rows_per_table * s.row_vectors();
  const int elements = 16 / bytes_of(s.dtype);
  const int bits = 8 * bytes_of(s.dtype);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors; i += int64_t(gridDim.x) * blockDim.x) {
    const int column = int(i % s.row_vectors()) * elements;
    const int64_t row = i / s.row_vectors();
    const int table = rank * s.tables_per_gpu + int(row / s.rows_per_table);
    const int r = int(row % s.rows_per_table);
    uint64_t half[2] = {0, 0};
    for (int e = 0; e < elements; ++e)
      half[e * bits / 64] |= uint64_t(bits_of(s.dtype, weight_at(s, table, r, column + e))) << (e * bits % 64);
    tables[i] = make_uint4(uint32_t(half[0]), uint32_t(half[0] >> 32), uint32_t(half[1]), uint32_t(half[1] >> 32));
  }
}

__global__ void fill_indices(Shape s, Popularity popularity, int rank, uint64_t seed, int* indices) {
  const int64_t count = s.tables_per_gpu * int64_t(s.global_batch) * s.pooling;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x) {
    const int slot = int(i % s.pooling);
    const int64_t bag = i / s.pooling;
    indices[i] = row_at(s, popularity, rank * s.tables_per_gpu + int(bag / s.global_batch), int(bag % s.global_batch),
                        slot, seed);
  }
}

// Counts words of the output that were not written. Outputs are filled with 0xff bytes before a run; this bit pattern
// is a NaN, which no sum can have.
__global__ void count_poison(const uint32_t* words, int64_t count, unsigned long long* found) {
  unsigned long long mine = 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
    mine += words[i] == 0xffffffffU;
  if (mine != 0) atomicAdd(found, mine);
}

__global__ void pick_elements(const void* output, Dtype dtype, const int64_t* elements, int count, float* picked) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const int64_t at = elements[i];
  picked[i] = dtype == Dtype::fp32   ? static_cast<const float*>(output)[at]
              : dtype == Dtype::fp16 ? __half2float(static_cast<const __half*>(output)[at])
                                     : __bfloat162float(static_cast<const __nv_bfloat16*>(output)[at]);
}
