// Describes a problem: its sizes, the order of its logical WGs (tasks), its synthetic data and its numbers of bytes.
// Host and device share this code, so that the CPU reference and the kernels use the same data and order.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "device_clock.cuh"
#include "popularity.hpp"

// Rows that a thread requests before it uses the first one, as 16-byte loads. If a thread sums several bags at the same
// time, the rows belong to all of them.
inline constexpr int kLoadsInFlight = 8;  // per thread

enum class Dtype : int { fp32, fp16, bf16 };
inline constexpr const char* kDtypeNames[] = {"fp32", "fp16", "bf16"};
__host__ __device__ constexpr int bytes_of(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

enum class Order : int {
  natural = 0,      // table by table with ascending samples, so the destinations are 0, 1, ..., N-1 for every table
  remote_first = 1  // all tasks for rank+1, then for rank+2, ..., and the tasks for this rank last
};

// The order of the pooled vectors in a buffer.
enum class Layout : int {
  sample_major,  // [sample][table][dim]: the layout that the layers after the operator read
  table_major    // [table][sample][dim]: the layout that exchanges of contiguous shares produce
};

// One logical WG: the pooled vectors of `bags_per_task` consecutive samples of one table. One rank owns all of these
// samples, because bags_per_task divides the number of samples per rank.
struct Task {
  int id;            // table * (global_batch / bags_per_task) + block, in every order
  int table;         // local table, 0..tables_per_gpu-1
  int first_sample;  // global sample
  int destination;   // rank that owns the samples
};

struct Shape {
  int ranks = 4;
  int tables_per_gpu = 16;
  int global_batch = 8192;
  int pooling = 16;  // rows summed into one pooled vector
  int dim = 128;     // elements of a row
  Dtype dtype = Dtype::fp32;
  double zipf = 0;  // exponent of the row popularity; 0: uniform
  int rows_per_table = 1'000'000;
  int bags_per_task = 16;

  __host__ __device__ int row_bytes() const { return dim * bytes_of(dtype); }
  __host__ __device__ int row_vectors() const { return row_bytes() / 16; }  // 16-byte pieces of a row
  __host__ __device__ int samples_per_rank() const { return global_batch / ranks; }
  __host__ __device__ int blocks_per_rank() const { return samples_per_rank() / bags_per_task; }
  __host__ __device__ int tasks_per_destination() const { return tables_per_gpu * blocks_per_rank(); }
  __host__ __device__ int tasks() const { return tasks_per_destination() * ranks; }
  __host__ __device__ int global_tables() const { return tables_per_gpu * ranks; }

  // Returns the number of rows that one WG processes at the same time. Each row has a group of row_vectors() threads.
  __host__ __device__ int groups() const { return kThreads / row_vectors(); }
  __host__ __device__ int bags_per_group() const { return bags_per_task / groups(); }
  // Returns the bytes that one WG has requested and not yet received: a whole batch of loads, or less if a bag has
  // fewer rows than a batch loads of each bag.
  int bytes_in_flight_per_wg() const {
    const int rows_of_a_bag = kLoadsInFlight / bags_per_group();
    return kThreads * 16 * bags_per_group() * (pooling < rows_of_a_bag ? pooling : rows_of_a_bag);
  }

  // Return the distance of neighbouring samples (in a buffer of `tables` tables) and of neighbouring tables, in 16-byte
  // pieces.
  __host__ __device__ int64_t sample_stride(Layout layout, int tables) const {
    return layout == Layout::sample_major ? int64_t{tables} * row_vectors() : row_vectors();
  }
  __host__ __device__ int64_t table_stride(Layout layout) const {
    return layout == Layout::sample_major ? row_vectors() : int64_t{samples_per_rank()} * row_vectors();
  }

  // Returns the bytes of the rows and of the int32 indices that a task reads.
  int64_t task_read_bytes() const { return int64_t{bags_per_task} * pooling * (row_bytes() + 4); }
  int64_t task_store_bytes() const { return int64_t{bags_per_task} * row_bytes(); }
  int64_t task_flop() const { return int64_t{bags_per_task} * pooling * dim; }  // one fp32 addition per element
  int64_t table_bytes() const { return int64_t{tables_per_gpu} * rows_per_table * row_bytes(); }
  int64_t index_count() const { return int64_t{tables_per_gpu} * global_batch * pooling; }
  int64_t output_elements() const { return int64_t{samples_per_rank()} * global_tables() * dim; }  // of one rank
  int64_t output_bytes() const { return output_elements() * bytes_of(dtype); }
  int64_t share_bytes() const { return output_bytes() / ranks; }  // bytes that one rank sends to one rank

  std::string text() const {
    std::string text = "tables_per_gpu=" + std::to_string(tables_per_gpu) +
                       ",global_batch=" + std::to_string(global_batch) + ",dim=" + std::to_string(dim) +
                       ",pooling=" + std::to_string(pooling) + ",bags_per_task=" + std::to_string(bags_per_task);
    return text + ",dtype=" + kDtypeNames[int(dtype)];
  }

  // Returns the reason why the kernels cannot run this shape; an empty text if they can.
  std::string problem() const {
    if (row_bytes() % 16 != 0 || row_vectors() > kThreads || kThreads % row_vectors() != 0)
      return "a row of " + std::to_string(row_bytes()) + " bytes; 16 to 4096 bytes, a power of two, would be right";
    // Most bags per group of threads: the registers cannot hold more sums besides a batch of loads.
    const int most = dtype == Dtype::fp32 ? 4 : 2;
    const int bags = bags_per_task / groups();
    if (bags_per_task % groups() != 0 || bags > most || (bags != 1 && bags != 2 && bags != 4))
      return "bags_per_task " + std::to_string(bags_per_task) + "; 1, 2 or (fp32) 4 times " + std::to_string(groups()) +
             " would be right for this row";
    if (global_batch % (ranks * bags_per_task) != 0)
      return "global_batch " + std::to_string(global_batch) + " on " + std::to_string(ranks) +
             " GPUs; a multiple of GPUs x bags_per_task would be right";
    if (int64_t{bags_per_task} * pooling % 4 != 0) return "bags_per_task x pooling must be a multiple of 4";
    if (int64_t{bags_per_task} * pooling * 4 > 46 * 1024)
      return "the indices of a task take more than 46 KiB of shared memory; a smaller bags_per_task would be right";
    if (int64_t{rows_per_table} * row_vectors() > int64_t{UINT32_MAX}) return "a table of more than 64 GiB";
    if (pooling > 256) return "pooling above 256: fp32 sums would no longer be exact in any order";
    return "";
  }

  // Returns the task at position `position` of rank `rank`'s list of tasks.
  __host__ __device__ Task task_at(int position, int rank, Order order) const {
    Task task{};
    if (order == Order::natural) {
      const int blocks = blocks_per_rank() * ranks;
      const int block = position % blocks;
      task.id = position;
      task.table = position / blocks;
      task.first_sample = block * bags_per_task;
      task.destination = block / blocks_per_rank();
      return task;
    }
    const int within = position % tasks_per_destination();
    task.destination = (rank + 1 + position / tasks_per_destination()) % ranks;
    task.table = within / blocks_per_rank();
    const int block = task.destination * blocks_per_rank() + within % blocks_per_rank();
    task.first_sample = block * bags_per_task;
    task.id = task.table * blocks_per_rank() * ranks + block;
    return task;
  }
};

// Returns a hash of `x` (the finaliser of splitmix64). All synthetic data are computed from it, so the CPU reference
// needs no copy of the inputs.
__host__ __device__ inline uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Returns an element of a table, in [-1, 1): a multiple of 2^-15 (fp32), 2^-10 (fp16) or 2^-7 (bf16). So the dtype
// holds it exactly, and fp32 sums of up to 256 elements are exact in any order. Only the sum is rounded to the dtype,
// to nearest even, so results must equal the reference bit for bit.
__host__ __device__ inline float weight_at(const Shape& s, int global_table, int row, int column) {
  const uint64_t element =
      (uint64_t(global_table) * uint64_t(s.rows_per_table) + uint64_t(row)) * uint64_t(s.dim) + uint64_t(column);
  const int bits = s.dtype == Dtype::fp32 ? 16 : s.dtype == Dtype::fp16 ? 11 : 8;
  const int half = 1 << (bits - 1);
  const uint64_t h = mix(element * 0x9e3779b97f4a7c15ULL + 12345);
  return float(int(h & uint64_t(2 * half - 1)) - half) / float(half);
}

// Returns the row that index number `slot` of the bag of (table, sample) selects. `seed` differs in every run, so that
// no run finds the rows of the previous run in the L2.
__host__ __device__ inline int row_at(const Shape& s, const Popularity& popularity, int global_table, int sample,
                                      int slot, uint64_t seed) {
  const uint64_t bag = uint64_t(global_table) * uint64_t(s.global_batch) + uint64_t(sample);
  const uint64_t h = mix((bag * uint64_t(s.pooling) + uint64_t(slot)) * 0x9e3779b97f4a7c15ULL + mix(seed + 77));
  if (popularity.cdf == nullptr) return int(((h >> 32) * uint64_t(s.rows_per_table)) >> 32);
  // Popular rows have different numbers in every table. The factor is a prime above any rows_per_table, so that each
  // popularity rank has its own row, and neighbouring ranks have rows that are far apart.
  const uint64_t offset = mix(uint64_t(global_table) + 991) >> 32;
  return int((uint64_t(rank_at(popularity, h)) * 2654435761ULL + offset) % uint64_t(s.rows_per_table));
}
