// A persistent GEMM kernel, C = A B, with four ways of receiving A and delivering C, and the reduction that follows it.
// Each GPU owns a block of rows of A (if A is gathered) or of C (if C is scattered).
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "device_clock.cuh"
#include "moire_record.hpp"
#include "tile_order.hpp"

enum class Way {
  local,   // C is stored to the GPU's own memory
  store,   // tiles of C are stored to their owner's staging buffer, with one counter per tile
  add,     // tiles of C are added to their owner's output, with one counter for all tiles
  gather,  // rows of A come from other GPUs, with one flag per chunk of rows
};

constexpr int kPushers = 16;  // workgroups that store the GPU's own rows of A to the peers (only in mode ag_push)

struct GemmArguments {
  CUtensorMap a, b;          // [m][k] and [n][k]
  CUtensorMap c[kMaxRanks];  // c[p]: the rows that GPU p owns; `local` and `gather` use c[0] for all rows
  int m, n, k, rank, ranks;
  int block_rows;  // rows that each GPU owns
  int store_rows;  // rows in one store of 64 columns; divides block_rows
  TileOrder order;
  int repeats = 1;               // `local`: how often all tiles are computed
  uint32_t* counter[kMaxRanks];  // counter[p] is on GPU p. `store`: one counter per tile; `add`: one for all tiles
  uint32_t expected;             // `add`: value of the rank's own counter when its rows are complete
  bool late;                     // `store`: a tile's counter is raised only when the next tile's main loop has ended
  const uint32_t* flags;         // `gather`: one flag for each chunk of rows of A
  int chunk_rows;
  uint32_t flag_value;         // value of the flag of a chunk that has arrived
  int pushers;                 // number of workgroups that push; they are the last ones of the grid
  const __nv_bfloat16* own_a;  // pushers: the rank's own rows of A
  __nv_bfloat16* peer_a[kMaxRanks];
  uint32_t* peer_flags[kMaxRanks];
  int* gave_up;
  uint64_t* clock;  // how long the first workgroup ran: [0] in cycles, [1] in ns
  moire_record::Log log;
};

// Loads the kernels on the current GPU and raises the limit of their shared memory.
void prepare_kernels();
void launch_gemm(Way way, bool traced, const GemmArguments& arguments, int workgroups, cudaStream_t stream);
void describe_gemm(Way way, moire_record::Kernel& kernel);  // describes the traced kernel for the header of a trace

struct ReduceArguments {
  const __nv_bfloat16* parts;  // [source][block_rows][n]
  __nv_bfloat16* out;          // [block_rows][n]
  const uint32_t* counter;     // [tile of all rows]
  int n, rank, ranks, block_rows;
  TileOrder order;
  int* gave_up;
};
void launch_reduce(const ReduceArguments& arguments, int workgroups, cudaStream_t stream);
