// The problem: its sizes, the order of its logical WGs (tasks), its synthetic data and its byte counts.
// Everything here runs on host and device alike, so that the CPU reference and the kernels cannot drift apart.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "device_clock.cuh"

// What a WG asks of the memory before it uses the first row: rows of several bags side by side when bags are few rows.
inline constexpr int kLoadsInFlight = 8;  // 16-byte loads a thread
inline constexpr int kBytesInFlightPerWg = kThreads * 16 * kLoadsInFlight;

enum class Order : int {
  natural = 0,                  // table by table, samples ascending: destinations 0..N-1 in every table
  remote_first = 1,             // peer rank+1, then rank+2, ..., the local block last
  remote_first_interleaved = 2  // remote tasks first, consecutive tasks cycle over the peers, the local block last
};

// One logical WG: the pooled vectors of `bags_per_task` consecutive samples of one table. All of them belong to one
// destination because bags_per_task divides the sample block of a rank.
struct Task {
  int id;            // table * (global_batch / bags_per_task) + block: the same in every order
  int table;         // local table, 0..tables_per_gpu-1
  int first_sample;  // global sample
  int destination;   // rank that owns the samples
};

struct Shape {
  int ranks = 4;
  int tables_per_gpu = 16;
  int global_batch = 8192;
  int dim = 128;     // floats a row
  int pooling = 16;  // rows summed into one pooled vector
  int bags_per_task = 16;
  int rows_per_table = 1'000'000;

  __host__ __device__ int row_vectors() const { return dim / 4; }  // 16-byte pieces of a row
  __host__ __device__ int samples_per_rank() const { return global_batch / ranks; }
  __host__ __device__ int blocks_per_rank() const { return samples_per_rank() / bags_per_task; }
  __host__ __device__ int tasks_per_destination() const { return tables_per_gpu * blocks_per_rank(); }
  __host__ __device__ int tasks() const { return tasks_per_destination() * ranks; }
  __host__ __device__ int global_tables() const { return tables_per_gpu * ranks; }

  // Rows that one WG processes side by side, one group of row_vectors() threads each.
  __host__ __device__ int groups() const { return kThreads / row_vectors(); }
  __host__ __device__ int bags_per_group() const { return bags_per_task / groups(); }

  int64_t task_read_bytes() const {
    return int64_t{bags_per_task} * pooling * (dim * 4 + 4);
  }  // rows and int32 indices
  int64_t task_store_bytes() const { return int64_t{bags_per_task} * dim * 4; }
  int64_t task_flop() const { return int64_t{bags_per_task} * pooling * dim; }  // one fp32 add for each gathered float
  int64_t table_bytes() const { return int64_t{tables_per_gpu} * rows_per_table * dim * 4; }
  int64_t index_count() const { return int64_t{tables_per_gpu} * global_batch * pooling; }
  int64_t output_floats() const { return int64_t{samples_per_rank()} * global_tables() * dim; }  // of one rank

  std::string text() const {
    return "tables_per_gpu=" + std::to_string(tables_per_gpu) + ",global_batch=" + std::to_string(global_batch) +
           ",dim=" + std::to_string(dim) + ",pooling=" + std::to_string(pooling) +
           ",bags_per_task=" + std::to_string(bags_per_task) + ",dtype=fp32";
  }

  // The task at place `position` of rank `rank`'s list.
  __host__ __device__ Task task_at(int position, int rank, Order order) const {
    Task task{};
    int within = 0;  // index among the tasks of one destination
    if (order == Order::natural) {
      const int blocks = blocks_per_rank() * ranks;
      const int block = position % blocks;
      task.id = position;
      task.table = position / blocks;
      task.first_sample = block * bags_per_task;
      task.destination = block / blocks_per_rank();
      return task;
    }
    const int remote = tasks_per_destination() * (ranks - 1);
    if (order == Order::remote_first_interleaved && position < remote) {
      task.destination = (rank + 1 + position % (ranks - 1)) % ranks;
      within = position / (ranks - 1);
    } else {
      task.destination = (rank + 1 + position / tasks_per_destination()) % ranks;
      within = position % tasks_per_destination();
    }
    task.table = within / blocks_per_rank();
    const int block = task.destination * blocks_per_rank() + within % blocks_per_rank();
    task.first_sample = block * bags_per_task;
    task.id = task.table * blocks_per_rank() * ranks + block;
    return task;
  }
};

// A 64-bit mixer (splitmix64's finaliser): data come from it, so no input has to be kept or copied for the reference.
__host__ __device__ inline uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Weights are multiples of 2^-15 in [-1, 1): sums of up to 256 of them are exact in fp32 in any order, so results must
// equal the reference bit for bit.
__host__ __device__ inline float weight_at(const Shape& s, int global_table, int row, int column) {
  const uint64_t element =
      (uint64_t(global_table) * uint64_t(s.rows_per_table) + uint64_t(row)) * uint64_t(s.dim) + column;
  return float(int(mix(element * 0x9e3779b97f4a7c15ULL + 12345) & 0xffff) - 32768) * (1.0F / 32768.0F);
}

// The row that slot `slot` of the bag (table, sample) reads. `seed` differs in every run: no run finds the rows of the
// run before in the L2.
__host__ __device__ inline int row_at(const Shape& s, int global_table, int sample, int slot, uint64_t seed) {
  const uint64_t bag = uint64_t(global_table) * uint64_t(s.global_batch) + uint64_t(sample);
  const uint64_t h = mix((bag * uint64_t(s.pooling) + slot) * 0x9e3779b97f4a7c15ULL + mix(seed + 77));
  return int(((h >> 32) * uint64_t(s.rows_per_table)) >> 32);
}
