// Embedding bags of DLRM and the All-to-All of their results, after Punniyamurthy et al., arXiv 2305.06942. A bag is a
// group of rows of a table, which are summed into one output vector. Each rank has some of the embedding tables. After
// the All-to-All, it has the results of all tables for its share of the batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/hardware/memory/cache.hpp"
#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/collective.hpp"

namespace moire::kernel {

enum class Schedule { bulk_synchronous, fused, unfused_kernel, all_to_all };
// The order in which a rank does the tasks of the fused kernel. slices_in_turn: one slice (slice_vectors results) for
// each other rank in turn, and the rank's own results last. peer_by_peer: all results for one other rank, then all for
// the next, and the rank's own results last. by_destination: all tasks for rank 0, then all for rank 1, and so on.
// by_table: table by table, with the samples of the batch in order.
enum class Order { slices_in_turn, peer_by_peer, by_destination, by_table };

struct EmbeddingSpec {
  Schedule schedule = Schedule::bulk_synchronous;
  std::int64_t tables_per_gpu = 0;
  std::int64_t global_batch = 0;
  std::int64_t pooling = 0;  // rows summed into one output vector
  std::int64_t dim = 0;
  std::int64_t rows_per_table = 1'000'000;
  builder::DataType dtype = builder::DataType::fp32;
  Bytes index_bytes{8};  // of one row number; PyTorch passes int64
  memory::Loads row_loads = memory::Loads::evict_first;
  double zipf_exponent = 0;  // the k-th row is read with a probability in proportion to 1 / k^exponent
  // Keys of the embedding kernel:
  std::int64_t bags_per_workgroup = 8;  // output vectors of one logical workgroup (task)
  std::int64_t threads = 256;
  std::int64_t registers_per_thread = 32;
  std::vector<builder::DataType> split_batches;  // data types whose kernel requests a full batch in two parts
  Bytes in_flight;                 // largest number of bytes of rows that a workgroup has requested at a time
  Time start_up;                   // from the start of a workgroup of the first wave to its first task
  Time task_overhead;              // part of a task in which its workgroup requests nothing
  double task_instructions = 0;    // of a wavefront for a task, without those that load and add rows
  double decode_instructions = 0;  // of one wavefront for a task of the fused kernel that the others do not have
  double load_instructions = 0;    // of a wavefront for a load of rows (16 bytes a thread), without the additions
  double integer_share = 0;        // share of integer arithmetic in the instructions of a task, additions included
  // Keys of the fused kernel:
  std::int64_t fused_registers_per_thread = 72;
  Order order = Order::slices_in_turn;
  std::int64_t slice_vectors = 32;  // vectors of one put between nodes
  std::optional<Time> fence;        // time to fence the stores before a ready flag; absent: port.fence of the GPU
  // Keys of the bulk-synchronous schedule:
  collective::Engine engine = collective::Engine::cu;  // of the All-to-All
  std::optional<libraries::LibrarySpec> library;
  static void describe(config::Describer<EmbeddingSpec>& d);
};

// Sizes that follow from the spec and the number of ranks.
struct EmbeddingSizes {
  EmbeddingSizes(const EmbeddingSpec& spec, program::Rank ranks);
  std::int64_t samples_per_rank;  // of the global batch
  std::int64_t blocks;            // tasks of one (table, destination)
  std::int64_t tasks_per_rank;    // for one destination: tables x blocks
  double vector_bytes;
  Bytes bytes_per_peer;
};

// Returns the All-to-All that brings the results to their ranks.
collective::Collective exchange_of(const EmbeddingSpec& spec, const EmbeddingSizes& sizes, program::Rank ranks);

// Returns what is wrong with the sizes and what would be right; nothing if they fit the machine.
std::optional<config::Problem> check_embedding(const EmbeddingSpec& spec, const libraries::EquippedSystem& system);

void append_embedding_all_to_all(builder::Builder& build, const EmbeddingSpec& spec);
void append_unfused_embedding(builder::Builder& build, const EmbeddingSpec& spec);
void append_fused_embedding(builder::Builder& build, const EmbeddingSpec& spec);

// How a kernel walks through the tables of its GPU.
struct Walk {
  std::int64_t passes = 1;      // walks through all tables, each for another part of the samples
  std::int64_t workgroups = 1;  // workgroups on the GPU at once, which work on neighbouring tasks
  double progress_window = 0;   // of persistent workgroups (cu::CuArraySpec)
};

// Returns the demands of gathering one output vector, which is the unit of work. The caller adds the store of the
// result.
program::PhaseShape gather_shape(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, std::string name,
                                 const Walk& walk);

// Returns the share of the results in a GPU's memory that the caches write to memory before the kernel ends. The GPU
// itself and its peers have stored these results. `gather` is the shape of one vector.
double results_written_back(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, const program::PhaseShape& gather);

// The first tasks of a GPU's workgroups run in step: all workgroups start up, issue their instructions and wait for row
// numbers at the same time, while the memory is idle. before_first_rows() returns the time until a workgroup requests
// its first rows (start_up, task_overhead, task_instructions and the wait for row numbers), which is modelled as a
// delay. `resident`: workgroups on the GPU. of_first_task() returns the shape of the first task after this delay:
// `gather` without what the delay contains. Later tasks of different workgroups are out of step, so their shape
// contains it.
Time before_first_rows(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, std::int64_t resident);
program::PhaseShape of_first_task(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, program::PhaseShape gather);

}  // namespace moire::kernel
