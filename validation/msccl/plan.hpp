// A plan: a custom collective algorithm in the form that the interpreter runs. It is read from the table that
// flatten.py writes from MSCCL XML.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "block_program.hpp"

struct Step {
  StepType type = StepType::nop;
  int src_buffer = 0, dst_buffer = 0;  // 0 input, 1 output, 2 scratch
  int src = 0, dst = 0, count = 0;     // chunks
  int depends_block = -1, depends_step = -1;
  bool has_dependents = false;
};

struct ThreadBlock {
  int send = -1, recv = -1, channel = 0;
  std::vector<Step> steps;
};

struct PlanGpu {
  int chunks[3] = {0, 0, 0};
  std::vector<ThreadBlock> blocks;
};

enum class Coll { all_reduce, all_gather, all_to_all, reduce_scatter, broadcast, reduce, custom };
inline const std::vector<std::string> kCollNames = {"allreduce", "allgather", "alltoall", "reducescatter",
                                                    "broadcast", "reduce",    "custom"};

struct Plan {
  std::string file;  // name of the XML file, without folder
  Coll coll = Coll::custom;
  bool ll = false;
  bool in_place = false;
  int channels = 1;
  int chunks = 1;  // nchunksperloop of the XML: chunks of the whole buffer
  std::vector<PlanGpu> gpus;

  int ranks() const { return int(gpus.size()); }
  int most_blocks() const;
  int64_t per_rank() const { return chunks / ranks(); }  // chunks of one rank's share
  // The begin of a buffer, in chunks of the allocated buffer that contains it. In place, input and output share one
  // allocated buffer.
  struct Place {
    int buffer;
    int64_t chunk;
  };
  Place place(int rank, int buffer) const;
  // Return the number of chunks of a rank's input and of its output, as the collective defines them.
  int64_t input_chunks(int rank) const;
  int64_t output_chunks(int rank) const;
};

// Reads the plans. Prints every error with its line and ends the program with status 2 if there was one.
std::vector<Plan> read_plans(const std::string& path);

// The steps of a GPU as the kernel executes them: the waits of a nop are merged into the step after it, and consecutive
// reductions with the same destination are fused into one pass.
struct GpuProgram {
  std::vector<Op> ops;
  std::vector<Wait> waits;
  std::vector<int32_t> sources;
  std::vector<BlockRange> blocks;
};
GpuProgram compile(const PlanGpu& gpu);

// Sets `cut` to how the plan cuts a buffer of `bytes` bytes into chunks and calls. Returns an empty text, or the reason
// why the plan cannot run on so many bytes.
std::string cut_of(const Plan& plan, int64_t bytes, Cut& cut);
