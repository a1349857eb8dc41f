// The kernels of the fused embedding + All-to-All and of its bulk-synchronous counterpart.
//
// Memory layouts (fp32; row_vectors = dim / 4 pieces of 16 bytes):
//   tables   [local table][row][dim]                 of this GPU
//   indices  [local table][global sample][pooling]   int32
//   output   [own sample][global table][dim]         of every GPU; peers write into it
//   staging  [global sample][local table][dim]       unfused kernel only: a sample's local vectors are contiguous
#pragma once

#include "device_clock.cuh"
#include "records.hpp"
#include "shape.hpp"

// Device words that GPUs use to meet: arrived counts the WGs of this GPU, ready[source] is written by peers.
struct Gate {
  uint32_t* arrived;           // own, zeroed before the launch
  uint32_t* ready[kMaxRanks];  // ready[p]: the array of GPU p, one word a source
};

struct FusedArguments {
  Shape shape;
  int rank;
  Order order;
  bool start_barrier;  // meet all WGs of all GPUs before the first task
  bool visible;        // system fence after every task, so that end_ns means "the peer has the data"
  const float4* tables;
  const int* indices;
  float4* output[kMaxRanks];
  uint32_t*
      flags[kMaxRanks];  // of GPU p: [source][wg], set to epoch when wg of source has stored its last vector for p
  uint32_t epoch;        // differs in every run, so flags need no reset
  Gate gate;
  TaskRecord* tasks;  // [task id]
  WaitRecord* waits;  // [peer][wg]
  WgRecord* wgs;      // [wg]
  int* gave_up;
};

struct UnfusedArguments {
  Shape shape;
  const float4* tables;
  const int* indices;
  float4* staging;
};

struct CopyArguments {
  Shape shape;
  int rank;
  const float4* staging;
  float4* output[kMaxRanks];
};

// Sums of the kBags bags that this thread's group owns in one task (bags group, group + groups, ...); `column` is the
// thread's 16-byte piece of the row. All kLoadsInFlight loads are meant to be issued before the first add: the adds
// begin with the row that was asked for last, and float adds are not reordered. The disassembly shows it for kBags 1
// and 2; for 4 the compiler waits once within a batch.
template <int kBags>
__device__ inline void pool_bags(const Shape& s, const float4* table, const int* bag_rows, int group, int column,
                                 float4 (&sum)[kBags]) {
  constexpr int kUnroll = kLoadsInFlight / kBags;
  const int vectors = s.row_vectors();
  const int groups = s.groups();
  const int pooling = s.pooling;
#pragma unroll
  for (int b = 0; b < kBags; ++b) sum[b] = make_float4(0, 0, 0, 0);
#pragma unroll 1  // the compiler's own unrolling would change the bytes in flight
  for (int slot = 0; slot < pooling; slot += kUnroll) {
    float4 piece[kBags][kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int b = 0; b < kBags; ++b) {
        const int row = bag_rows[(group + b * groups) * pooling + slot + u];
        piece[b][u] = load_streaming(table + int64_t(row) * vectors + column);
      }
    }
    __syncwarp();  // keeps the compiler from waiting for the first rows before it has asked for the last
#pragma unroll
    for (int u = kUnroll - 1; u >= 0; --u) {
#pragma unroll
      for (int b = 0; b < kBags; ++b) {
        sum[b].x += piece[b][u].x;
        sum[b].y += piece[b][u].y;
        sum[b].z += piece[b][u].z;
        sum[b].w += piece[b][u].w;
      }
    }
  }
}

// The task's row indices, from HBM into shared memory: one contiguous run.
__device__ inline void stage_indices(const Shape& s, const int* indices, const Task& task, int* bag_rows) {
  const int count = s.bags_per_task * s.pooling;
  const int* from = indices + (int64_t(task.table) * s.global_batch + task.first_sample) * s.pooling;
#pragma unroll 1
  for (int i = threadIdx.x * 4; i < count; i += kThreads * 4)
    *reinterpret_cast<int4*>(bag_rows + i) = __ldg(reinterpret_cast<const int4*>(from + i));
}

// Opens when every WG of every GPU has arrived. All WGs are resident (the grid is at most the occupancy), so it ends.
__device__ inline void start_together(const FusedArguments& a) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(a.gate.arrived, 1U);
    if (blockIdx.x == 0) {
      wait_for_flag(a.gate.arrived, gridDim.x, a.gave_up);
      fence_sys();  // once: a release per peer would send the flags one round trip apart
      for (int p = 0; p < a.shape.ranks; ++p) store_relaxed_sys(a.gate.ready[p] + a.rank, a.epoch);
    }
    for (int p = 0; p < a.shape.ranks; ++p) wait_for_flag(a.gate.ready[a.rank] + p, a.epoch, a.gave_up);
  }
  __syncthreads();
}

// Persistent: the grid is what the GPU holds at once, and WG w takes the tasks at positions w, w + grid, ....
// kRecord adds the barrier between sums and stores and the time stamps; without it the stores of a warp leave as soon
// as its own sums are done.
template <int kBags, bool kRecord>
__global__ void __launch_bounds__(kThreads, 4) fused_kernel(const __grid_constant__ FusedArguments a) {
  extern __shared__ int bag_rows[];     // [bag of the task][slot]
  __shared__ int remaining[kMaxRanks];  // this WG's tasks still to come, by destination
  __shared__ Task decoded[2];           // this task and the next: its divisions (0.5 us) run beside the index loads
  // Stamps wait in shared memory: in registers they would make the compiler split the batch of loads.
  __shared__ TaskRecord record;
  __shared__ WgRecord own;
  const Shape& s = a.shape;
  const int tid = int(threadIdx.x);
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
  // One position a thread: decoding them one after the other would cost a WG several microseconds.
  for (int position = wg + tid * grid; position < tasks; position += grid * kThreads)
    atomicAdd(&remaining[s.task_at(position, a.rank, a.order).destination], 1);
  const bool decoder = tid == kThreads - 1;  // its warp has no indices to load
  if (decoder) decoded[0] = s.task_at(wg < tasks ? wg : 0, a.rank, a.order);
  __syncthreads();
  if (a.start_barrier) start_together(a);
  if (kRecord && tid == 0) own.released_ns = global_ns();
  // A WG without any task for a peer has nothing to wait for.
  if (tid < s.ranks && tid != a.rank && remaining[tid] == 0)
    store_release_sys(a.flags[tid] + a.rank * grid + wg, a.epoch);

  const int group = tid / s.row_vectors();
  const int column = tid % s.row_vectors();
  const int64_t table_vectors = int64_t(s.rows_per_table) * s.row_vectors();
  int turn = 0;
  for (int position = wg; position < tasks; position += grid, turn ^= 1) {
    if (kRecord && tid == 0) record.start_ns = global_ns();
    const Task task = decoded[turn];
    stage_indices(s, a.indices, task, bag_rows);
    if (decoder && position + grid < tasks) decoded[turn ^ 1] = s.task_at(position + grid, a.rank, a.order);
    __syncthreads();

    float4 sum[kBags];
    pool_bags<kBags>(s, a.tables + task.table * table_vectors, bag_rows, group, column, sum);
    if (kRecord) {
      __syncthreads();
      if (tid == 0) record.compute_end_ns = global_ns();
    }

    const int first = task.first_sample - task.destination * s.samples_per_rank();
    const int global_table = a.rank * s.tables_per_gpu + task.table;
    float4* out = a.output[task.destination];
#pragma unroll
    for (int b = 0; b < kBags; ++b) {
      const int64_t sample = first + group + b * s.groups();
      out[(sample * s.global_tables() + global_table) * s.row_vectors() + column] = sum[b];
    }
    if (a.visible) fence_sys();
    __syncthreads();  // all stores are issued, and bag_rows is free for the next task
    if (tid == 0) {
      if (kRecord) {
        record.end_ns = global_ns();
        a.tasks[task.id] = record;
        ++own.tasks;
      }
      // The release makes the stores of the whole WG (ordered by the barrier above) visible before the flag. Under load
      // it takes microseconds; the WG's next task starts after it.
      if (task.destination != a.rank && --remaining[task.destination] == 0)
        store_release_sys(a.flags[task.destination] + a.rank * grid + wg, a.epoch);
    }
  }

  // WG w polls the flags of every peer's WG w, one warp a peer: together the WGs cover all flags of this GPU.
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
      own.end_ns = global_ns();
      a.wgs[wg] = own;
    }
  }
}

// One WG a task, dispatched by the hardware in natural order, results to local memory.
template <int kBags>
__global__ void __launch_bounds__(kThreads, 4) unfused_kernel(const __grid_constant__ UnfusedArguments a) {
  extern __shared__ int bag_rows[];
  const Shape& s = a.shape;
  const Task task = s.task_at(int(blockIdx.x), 0, Order::natural);
  stage_indices(s, a.indices, task, bag_rows);
  __syncthreads();
  const int group = int(threadIdx.x) / s.row_vectors();
  const int column = int(threadIdx.x) % s.row_vectors();
  float4 sum[kBags];
  pool_bags<kBags>(s, a.tables + int64_t(task.table) * s.rows_per_table * s.row_vectors(), bag_rows, group, column,
                   sum);
#pragma unroll
  for (int b = 0; b < kBags; ++b) {
    const int64_t sample = task.first_sample + group + b * s.groups();
    a.staging[(sample * s.tables_per_gpu + task.table) * s.row_vectors() + column] = sum[b];
  }
}

// The All-to-All of the bulk-synchronous version: plain loads from staging, stores into the owners' outputs. Peers are
// rotated by rank so that no two senders start on one receiver; the own block comes last.
__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ CopyArguments a) {
  constexpr int kUnroll = 4;
  const Shape& s = a.shape;
  const int sample_vectors = s.tables_per_gpu * s.row_vectors();  // contiguous both in staging and in the output
  const int block_vectors = s.samples_per_rank() * sample_vectors;
  for (int turn = 1; turn <= s.ranks; ++turn) {
    const int destination = (a.rank + turn) % s.ranks;
    const float4* from = a.staging + int64_t(destination) * block_vectors;
    float4* to = a.output[destination] + int64_t(a.rank) * sample_vectors;
    for (int base = int(blockIdx.x) * kThreads * kUnroll; base < block_vectors;
         base += int(gridDim.x) * kThreads * kUnroll) {
      float4 piece[kUnroll];
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

// Holds back a stream until the host has enqueued everything on every GPU, then until all GPUs' gates are open, so that
// what follows starts within about a microsecond everywhere and no launch cost of the host is timed.
__global__ void gate_kernel(const volatile uint32_t* host_flag, Gate gate, int rank, int ranks, uint32_t epoch,
                            int* gave_up) {
  const uint64_t deadline = global_ns() + kSpinLimitNs;
  while (*host_flag != epoch) {
    if (global_ns() > deadline) {
      *gave_up = 1;
      return;
    }
  }
  for (int p = 0; p < ranks; ++p) store_relaxed_sys(gate.ready[p] + rank, epoch);  // carries no data to release
  for (int p = 0; p < ranks; ++p) wait_for_flag(gate.ready[rank] + p, epoch, gave_up);
}

__global__ void fill_tables(Shape s, int rank, float4* tables) {
  const int64_t vectors = int64_t(s.tables_per_gpu) * s.rows_per_table * s.row_vectors();
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors; i += int64_t(gridDim.x) * blockDim.x) {
    const int column = int(i % s.row_vectors()) * 4;
    const int64_t row = i / s.row_vectors();
    const int table = rank * s.tables_per_gpu + int(row / s.rows_per_table);
    const int r = int(row % s.rows_per_table);
    tables[i] = make_float4(weight_at(s, table, r, column), weight_at(s, table, r, column + 1),
                            weight_at(s, table, r, column + 2), weight_at(s, table, r, column + 3));
  }
}

__global__ void fill_indices(Shape s, int rank, uint64_t seed, int* indices) {
  const int64_t count = int64_t(s.tables_per_gpu) * s.global_batch * s.pooling;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x) {
    const int slot = int(i % s.pooling);
    const int64_t bag = i / s.pooling;
    indices[i] = row_at(s, rank * s.tables_per_gpu + int(bag / s.global_batch), int(bag % s.global_batch), slot, seed);
  }
}

// Outputs are filled with 0xff bytes before a run; a sum can never have that bit pattern (a NaN).
__global__ void count_poison(const uint32_t* words, int64_t count, unsigned long long* found) {
  unsigned long long mine = 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
    mine += words[i] == 0xffffffffU;
  if (mine != 0) atomicAdd(found, mine);
}

__global__ void pick_elements(const float* output, const int64_t* elements, int count, float* picked) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) picked[i] = output[elements[i]];
}
