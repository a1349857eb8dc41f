#include "models/kernel/embedding_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/memory/cache.hpp"
#include "sim/config/spec.hpp"

namespace moire::models::kernel {

namespace {
constexpr double most_flags = 1e9;  // 12 GB of simulated flag memory
constexpr double index_bytes = 8;   // int64 row numbers, as PyTorch passes them
}  // namespace

void EmbeddingSpec::describe(config::Describer<EmbeddingSpec>& d) {
  d.component("embedding_all_to_all",
              "Embedding bags of table-parallel DLRM and the All-to-All that gives every rank "
              "its share of the batch.");
  d.field("schedule", &EmbeddingSpec::schedule,
          "bulk_synchronous: kernel, then collective; fused: one persistent kernel")
      .choices({{"bulk_synchronous", Schedule::bulk_synchronous}, {"fused", Schedule::fused}})
      .or_default();
  d.field("tables_per_gpu", &EmbeddingSpec::tables_per_gpu, "Embedding tables each GPU holds").range(1, 100000);
  d.field("global_batch", &EmbeddingSpec::global_batch, "Samples of one iteration over all GPUs").range(1, 1 << 30);
  d.field("pooling", &EmbeddingSpec::pooling, "Rows summed into one output vector").range(1, 100000);
  d.field("dim", &EmbeddingSpec::dim, "Elements of a row").range(1, 65536);
  d.field("rows_per_table", &EmbeddingSpec::rows_per_table, "Rows of a table; with dim its footprint in the caches")
      .range(1, std::int64_t{1} << 40)
      .or_default();
  d.field("dtype", &EmbeddingSpec::dtype, "Element type of rows and results")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
  d.field("bags_per_workgroup", &EmbeddingSpec::bags_per_workgroup, "Output vectors of one logical workgroup")
      .range(1, 4096)
      .or_default();
  d.field("threads", &EmbeddingSpec::threads, "Threads of a workgroup").range(32, 1024).or_default();
  d.field("registers_per_thread", &EmbeddingSpec::registers_per_thread, "Registers per thread of the unfused kernel")
      .range(8, 512)
      .or_default();
  d.field("in_flight", &EmbeddingSpec::in_flight,
          "Bytes a workgroup keeps requested: threads x bytes per load x loads unrolled")
      .positive();
  d.field("fused_registers_per_thread", &EmbeddingSpec::fused_registers_per_thread,
          "Registers per thread of the fused kernel (the communication API raises them and costs occupancy)")
      .range(8, 512)
      .or_default();
  d.field("remote_first", &EmbeddingSpec::remote_first,
          "Fused: results for other ranks are computed first, the peers in turn; else in the order of the output")
      .or_default();
  d.field("slice_vectors", &EmbeddingSpec::slice_vectors, "Fused, between nodes: vectors of one put")
      .range(1, 1 << 20)
      .or_default();
  d.field("fence", &EmbeddingSpec::fence, "Fused: time to release the stores before a ready flag is raised");
  d.field("engine", &EmbeddingSpec::engine,
          "Bulk-synchronous: the All-to-All is a kernel of the collective library (cu) or copies by DMA engines (dma)")
      .choices({{"cu", collective::Engine::cu}, {"dma", collective::Engine::dma}})
      .or_default();
  d.field("library", &EmbeddingSpec::library,
          "Bulk-synchronous, engine cu: the collective library, a file of configs/libraries")
      .optional();
}

EmbeddingSizes::EmbeddingSizes(const EmbeddingSpec& spec, program::Rank ranks)
    : samples_per_rank(spec.global_batch / ranks),
      blocks((samples_per_rank + spec.bags_per_workgroup - 1) / spec.bags_per_workgroup),
      tasks_per_rank(spec.tables_per_gpu * blocks),
      vector_bytes(static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype)),
      bytes_per_peer{static_cast<double>(spec.tables_per_gpu * samples_per_rank) * vector_bytes} {}

std::optional<std::string> check_embedding(const EmbeddingSpec& spec, const machine::SystemSpec& system) {
  const std::int64_t ranks = system.ranks();
  if (ranks < 2) return "an All-to-All needs at least 2 ranks; raise system.nodes or system.node.gpus";
  if (spec.global_batch % ranks != 0) {
    return fmt::format("global_batch {} does not divide over {} ranks; {} would", spec.global_batch, ranks,
                       std::max<std::int64_t>(1, (spec.global_batch + ranks / 2) / ranks) * ranks);
  }
  if (spec.slice_vectors % spec.bags_per_workgroup != 0) {
    return fmt::format(
        "slice_vectors {} is not a multiple of bags_per_workgroup {}; {} would be", spec.slice_vectors,
        spec.bags_per_workgroup,
        (spec.slice_vectors + spec.bags_per_workgroup - 1) / spec.bags_per_workgroup * spec.bags_per_workgroup);
  }
  // The fused kernel's flags: one ready flag per pair of ranks and a counter per slice.
  const EmbeddingSizes sizes(spec, static_cast<program::Rank>(ranks));
  const double slices = std::ceil(static_cast<double>(sizes.tasks_per_rank * spec.bags_per_workgroup) /
                                  static_cast<double>(spec.slice_vectors));
  const double flags = static_cast<double>(ranks) * static_cast<double>(ranks) * (1 + slices);
  if (spec.schedule == Schedule::fused && flags > most_flags) {
    return fmt::format(
        "{} ranks with {:.0f} slices to each peer need {:.2g} flags, {:.2g} are possible; raise slice_vectors "
        "or take fewer ranks",
        ranks, slices, flags, most_flags);
  }
  if (spec.schedule == Schedule::bulk_synchronous && spec.engine == collective::Engine::cu && !spec.library) {
    return "the bulk-synchronous schedule needs a collective library; write library: ../libraries/rccl.yaml, or "
           "engine: "
           "dma inside a node";
  }
  if (spec.schedule == Schedule::bulk_synchronous) {
    if (auto problem = collective::check_all_to_all(spec.engine, spec.library.has_value(), system)) return problem;
  }
  const double tables = static_cast<double>(spec.tables_per_gpu) * static_cast<double>(spec.rows_per_table) *
                        static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype);
  if (tables > system.node.gpu.hbm.capacity.value) {
    return fmt::format(
        "tables of {:.1f} GB per GPU do not fit its {:.1f} GB of memory; lower rows_per_table or tables_per_gpu",
        tables * 1e-9, system.node.gpu.hbm.capacity.value * 1e-9);
  }
  return std::nullopt;
}

program::PhaseShape gather_shape(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, std::string name) {
  const double row = static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype);
  const double grain = gpu.hbm.access_granularity.value;
  program::PhaseShape shape;
  shape.name = std::move(name);
  shape.read = static_cast<double>(spec.pooling) * (row + index_bytes);
  shape.read_overfetch = std::ceil(row / grain) * grain / row;
  shape.read_miss =
      1 - memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache,
                                    Bytes{static_cast<double>(spec.tables_per_gpu * spec.rows_per_table) * row});
  shape.flop = static_cast<double>(spec.pooling * spec.dim);
  shape.pipelined = false;  // a thread loads its batch of rows, sums it up, and loads the next
  shape.in_flight = spec.in_flight;
  return shape;
}

void append_embedding_all_to_all(builder::Builder& build, const EmbeddingSpec& spec) {
  if (spec.schedule == Schedule::fused) {
    append_fused_embedding(build, spec);
  } else {
    append_bulk_synchronous_embedding(build, spec);
  }
}

}  // namespace moire::models::kernel
