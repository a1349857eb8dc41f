// Embedding bags with an All-to-All of their results (DLRM, table-parallel to batch-parallel): paper 0.
#pragma once

#include <cstdint>
#include <optional>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/collective.hpp"

namespace moire::kernel {

enum class Schedule { bulk_synchronous, fused, unfused_kernel, all_to_all };
// Of the fused kernel's tasks. Results for other ranks first, the peers slice by slice in turn or one peer after the
// other; or as the output lies, destination by destination; or table by table, as the batch lies.
enum class Order { slices_in_turn, peer_by_peer, by_destination, by_table };

struct EmbeddingSpec {
  Schedule schedule = Schedule::bulk_synchronous;
  std::int64_t tables_per_gpu = 0;
  std::int64_t global_batch = 0;
  std::int64_t pooling = 0;  // rows summed into one output vector
  std::int64_t dim = 0;
  std::int64_t rows_per_table = 1'000'000;
  builder::DataType dtype = builder::DataType::fp32;
  Bytes index_bytes{8};      // of one row number: int64, as PyTorch passes them
  double zipf_exponent = 0;  // popularity of the k-th row ~ 1 / k^exponent; 0: all alike
  // The kernel
  std::int64_t bags_per_workgroup = 8;  // output vectors of one logical workgroup
  std::int64_t threads = 256;
  std::int64_t registers_per_thread = 32;
  Bytes in_flight;     // of a workgroup, at most
  Time start_up;       // of a workgroup of the first wave, until its first task
  Time task_overhead;  // of a task, with nothing requested
  // The fused kernel
  std::int64_t fused_registers_per_thread = 72;
  Order order = Order::slices_in_turn;
  std::int64_t slice_vectors = 32;  // vectors of one put between nodes
  std::optional<Time> fence;        // release of the stores before a ready flag; absent: the port's
  // The bulk-synchronous one
  collective::Engine engine = collective::Engine::cu;  // of the All-to-All
  std::optional<libraries::LibrarySpec> library;
  static void describe(config::Describer<EmbeddingSpec>& d);
};

// Output vectors, bytes and slices per rank and peer.
struct EmbeddingSizes {
  EmbeddingSizes(const EmbeddingSpec& spec, program::Rank ranks);
  std::int64_t samples_per_rank;  // of the global batch
  std::int64_t blocks;            // logical workgroups of one (table, destination)
  std::int64_t tasks_per_rank;    // of one destination: tables x blocks
  double vector_bytes;
  Bytes bytes_per_peer;
};

// Its All-to-All.
collective::Collective exchange_of(const EmbeddingSpec& spec, const EmbeddingSizes& sizes, program::Rank ranks);

// Says what is wrong with the sizes and what would be right; nothing if they fit the machine.
std::optional<config::Problem> check_embedding(const EmbeddingSpec& spec, const libraries::EquippedSystem& system);

void append_embedding_all_to_all(builder::Builder& build, const EmbeddingSpec& spec);
void append_unfused_embedding(builder::Builder& build, const EmbeddingSpec& spec);
void append_fused_embedding(builder::Builder& build, const EmbeddingSpec& spec);

// How a kernel walks through the tables of its GPU.
struct Walk {
  std::int64_t passes = 1;      // how often, each time with another part of the samples
  std::int64_t workgroups = 1;  // on the GPU at once, at neighbouring tasks
};

// Demands of one output vector (unit of work: a vector); where the result goes is added by the caller.
program::PhaseShape gather_shape(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, std::string name,
                                 const Walk& walk);

// Share of the results that arrive in a GPU's memory, own or peers', that it takes before the kernel ends; `gather` is
// that of one vector.
double results_written_back(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, const program::PhaseShape& gather);

// The first tasks of a GPU's workgroups go in step: all of them start up, then wait for row numbers, and nothing is
// asked of the memory meanwhile. What precedes their rows is a delay, and the shape is of the rows alone; later tasks
// mix, and have all of it in their shape.
Time before_first_rows(const EmbeddingSpec& spec, const machine::GpuSpec& gpu);
program::PhaseShape of_first_task(program::PhaseShape gather);

}  // namespace moire::kernel
