// One persistent GEMM kernel with four ways of getting A and of putting C, and the reduction behind it.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "device_clock.cuh"
#include "moire_record.hpp"
#include "tile_order.hpp"

enum class Way {
  local,   // C goes to the own memory
  store,   // tiles of C go to their owner's staging buffer, a counter for each
  add,     // tiles are added to their owner's output, one counter for all
  gather,  // rows of A come from other GPUs, a flag for each chunk of them
};

constexpr int kPushers = 16;  // workgroups that store the own rows of A to the peers, if any do

struct GemmArguments {
  CUtensorMap a, b;          // [m][k] and [n][k]
  CUtensorMap c[kMaxRanks];  // of each owner: its rows; `local` and `gather`: c[0], all rows
  int m, n, k, rank, ranks;
  int block_rows;  // rows of an owner
  int store_rows;  // of one store of 64 columns: divides block_rows
  TileOrder order;
  uint32_t* counter[kMaxRanks];  // of each owner: `store`: [tile], `add`: [0]
  uint32_t expected;             // `add`: of the own counter when the own rows are complete
  bool late;                     // `store`: a tile's counter is raised when the next tile's main loop has ended
  const uint32_t* flags;         // `gather`: of the own chunks of A, by the row
  int chunk_rows;
  uint32_t flag_value;         // of a chunk that is there
  int pushers;                 // workgroups that push: the last ones
  const __nv_bfloat16* own_a;  // pushers: own A
  __nv_bfloat16* peer_a[kMaxRanks];
  uint32_t* peer_flags[kMaxRanks];
  int* gave_up;
  uint64_t* clock;  // [0] cycles, [1] ns of the first workgroup
  moire_record::Log log;
};

// Loads the kernels and raises their shared-memory limit, on the current GPU.
void prepare_kernels();
void launch_gemm(Way way, bool traced, const GemmArguments& arguments, int workgroups, cudaStream_t stream);
void describe_gemm(Way way, moire_record::Kernel& kernel);  // of the traced kernel, for the head of a trace

struct ReduceArguments {
  const __nv_bfloat16* parts;  // [source][block_rows][n]
  __nv_bfloat16* out;          // [block_rows][n]
  const uint32_t* counter;     // [tile of all rows]
  int n, rank, ranks, block_rows;
  TileOrder order;
  int* gave_up;
};
void launch_reduce(const ReduceArguments& arguments, int workgroups, cudaStream_t stream);
