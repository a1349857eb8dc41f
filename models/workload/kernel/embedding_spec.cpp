#include "models/workload/kernel/embedding_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/hardware/memory/table_traffic.hpp"
#include "models/workload/kernel/operators.hpp"

namespace moire::kernel {

namespace {
constexpr double most_flags = 1e9;  // largest number of flags; the simulator needs about 12 GB for so many
constexpr double load_bytes = 16;   // bytes of one thread's widest load

double wavefronts_of(const EmbeddingSpec& spec, const machine::GpuSpec& gpu) {
  return static_cast<double>(gpu.compute.wavefronts(spec.threads));
}
}  // namespace

void EmbeddingSpec::describe(config::Describer<EmbeddingSpec>& d) {
  d.component(
      "embedding_all_to_all",
      "Embedding bags of table-parallel DLRM, and the All-to-All that gives every rank its share of the batch.");
  d.field("schedule", &EmbeddingSpec::schedule,
          "bulk_synchronous: the embedding kernel, then the All-to-All; fused: one persistent kernel that gathers and "
          "sends; unfused_kernel and all_to_all: only the first or only the second part of bulk_synchronous")
      .choices({{"bulk_synchronous", Schedule::bulk_synchronous},
                {"fused", Schedule::fused},
                {"unfused_kernel", Schedule::unfused_kernel},
                {"all_to_all", Schedule::all_to_all}})
      .or_default();
  d.field("tables_per_gpu", &EmbeddingSpec::tables_per_gpu, "Number of embedding tables on each GPU").range(1, 100000);
  d.field("global_batch", &EmbeddingSpec::global_batch, "Samples of one iteration, over all GPUs").range(1, 1 << 30);
  d.field("pooling", &EmbeddingSpec::pooling, "Number of rows that are summed into one output vector").range(1, 100000);
  d.field("dim", &EmbeddingSpec::dim, "Number of elements in a row").range(1, 65536);
  d.field("rows_per_table", &EmbeddingSpec::rows_per_table,
          "Number of rows in a table; with dim, this gives its footprint in the caches")
      .range(1, std::int64_t{1} << 40)
      .or_default();
  d.field("dtype", &EmbeddingSpec::dtype, "Element type of rows and results")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
  d.field("index_bytes", &EmbeddingSpec::index_bytes, "Bytes of one row number: 8 for int64 (PyTorch), 4 for int32")
      .range(Bytes{1}, Bytes{16})
      .or_default();
  d.field("row_loads", &EmbeddingSpec::row_loads,
          "How rows are loaded. evict_first: with the hint that the L2 evict their lines first (CUDA: "
          "ld.global.L1::no_allocate), so that they have little of it; ordinary: without this hint. Only a GPU with "
          "l2.evict_first_share knows the hint")
      .choices({{"evict_first", memory::Loads::evict_first}, {"ordinary", memory::Loads::ordinary}})
      .or_default();
  d.field("zipf_exponent", &EmbeddingSpec::zipf_exponent,
          "Popularity of rows: the k-th row of a table is accessed in proportion to 1 / k^exponent; with 0, all rows "
          "are equally popular")
      .range(0, 4)
      .or_default();
  d.field("bags_per_workgroup", &EmbeddingSpec::bags_per_workgroup, "Number of output vectors of one logical workgroup")
      .range(1, 4096)
      .or_default();
  d.field("threads", &EmbeddingSpec::threads, "Threads of a workgroup").range(32, 1024).or_default();
  d.field("registers_per_thread", &EmbeddingSpec::registers_per_thread, "Registers per thread of the unfused kernel")
      .range(8, 512)
      .or_default();
  d.field("in_flight", &EmbeddingSpec::in_flight,
          "Largest number of bytes that a workgroup requests before it waits: threads x bytes per load x unrolled "
          "loads. Short bags request less")
      .positive()
      .fractional();
  d.field("start_up", &EmbeddingSpec::start_up,
          "Time from the start of a workgroup of the first wave to its first task")
      .or_default();
  d.field("task_overhead", &EmbeddingSpec::task_overhead,
          "Time of a task in which its workgroup requests nothing: address calculations, barriers")
      .or_default();
  d.field("task_instructions", &EmbeddingSpec::task_instructions,
          "Instructions of a wavefront for one task, without those that load and add rows. If this key and "
          "load_instructions are 0, issue slots of the CUs are no limit")
      .range(0, 1e6)
      .example("217")
      .or_default();
  d.field("load_instructions", &EmbeddingSpec::load_instructions,
          "Instructions of a wavefront for one load of rows (16 bytes per thread), without the additions")
      .range(0, 1e6)
      .example("7")
      .or_default();
  d.field("decode_instructions", &EmbeddingSpec::decode_instructions,
          "Fused: instructions of one wavefront for a task that the others do not have, such as those that find the "
          "next task; task_instructions, the mean of all wavefronts, includes them")
      .range(0, 1e6)
      .example("236")
      .or_default();
  d.field("integer_share", &EmbeddingSpec::integer_share, "Share of integer arithmetic in the instructions of a task")
      .range(0, 1)
      .example("0.43")
      .or_default();
  d.field(
       "split_batches", &EmbeddingSpec::split_batches,
       "Data types whose compiled kernel requests a full batch of rows (in_flight) in two parts: the second one when "
       "the first row of the batch has arrived, because instructions of both wait for one scoreboard")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
  d.field("fused_registers_per_thread", &EmbeddingSpec::fused_registers_per_thread,
          "Registers per thread of the fused kernel (the communication API increases them, which lowers occupancy)")
      .range(8, 512)
      .or_default();
  d.field("order", &EmbeddingSpec::order,
          "Fused: order of the tasks. slices_in_turn: results for other ranks first, one slice for each rank in turn; "
          "peer_by_peer: all results for the next rank, then all for the one after it, ..., the rank's own last; "
          "by_destination: all results for rank 0, then all for rank 1, ...; by_table: table by table, with the "
          "samples in order")
      .choices({{"slices_in_turn", Order::slices_in_turn},
                {"peer_by_peer", Order::peer_by_peer},
                {"by_destination", Order::by_destination},
                {"by_table", Order::by_table}})
      .or_default();
  d.field("slice_vectors", &EmbeddingSpec::slice_vectors, "Fused, between nodes: number of vectors in one put")
      .range(1, 1 << 20)
      .or_default();
  d.field("fence", &EmbeddingSpec::fence,
          "Fused: time to fence the stores before a ready flag is raised; absent: port.fence of the GPU")
      .optional();
  d.field("engine", &EmbeddingSpec::engine,
          "Bulk-synchronous: whether the All-to-All is a kernel of the collective library (cu) or copies by DMA "
          "engines (dma)")
      .choices({{"cu", collective::Engine::cu}, {"dma", collective::Engine::dma}})
      .or_default();
  d.field("library", &EmbeddingSpec::library,
          "Bulk-synchronous, engine cu: the collective library, a file in configs/libraries; absent: the library of "
          "the system")
      .optional();
}

EmbeddingSizes::EmbeddingSizes(const EmbeddingSpec& spec, program::Rank ranks)
    : samples_per_rank(spec.global_batch / ranks),
      blocks((samples_per_rank + spec.bags_per_workgroup - 1) / spec.bags_per_workgroup),
      tasks_per_rank(spec.tables_per_gpu * blocks),
      vector_bytes(static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype)),
      bytes_per_peer{static_cast<double>(spec.tables_per_gpu * samples_per_rank) * vector_bytes} {}

std::optional<config::Problem> check_embedding(const EmbeddingSpec& spec, const libraries::EquippedSystem& system) {
  const std::int64_t ranks = system.ranks();
  const bool exchanges = spec.schedule == Schedule::bulk_synchronous || spec.schedule == Schedule::all_to_all;
  if (exchanges && ranks < 2)
    return config::Problem{"an All-to-All needs at least 2 ranks", "raise system.nodes or system.node.gpus"};
  if (spec.global_batch % ranks != 0) {
    return config::Problem{
        fmt::format("global_batch {} cannot be divided evenly among {} ranks", spec.global_batch, ranks),
        fmt::format("use {}", std::max<std::int64_t>(1, (spec.global_batch + ranks / 2) / ranks) * ranks)};
  }
  if (spec.slice_vectors % spec.bags_per_workgroup != 0) {
    return config::Problem{fmt::format("slice_vectors {} is not a multiple of bags_per_workgroup {}",
                                       spec.slice_vectors, spec.bags_per_workgroup),
                           fmt::format("use {}", (spec.slice_vectors + spec.bags_per_workgroup - 1) /
                                                     spec.bags_per_workgroup * spec.bags_per_workgroup)};
  }
  // task_instructions is the mean over the wavefronts, so all of them together include those of the decoding one.
  const double of_task = spec.task_instructions * wavefronts_of(spec, system.node.gpu);
  if (spec.schedule == Schedule::fused && spec.task_instructions > 0 && spec.decode_instructions > of_task) {
    return config::Problem{fmt::format("decode_instructions {:g} are more than those of all wavefronts of a task, {:g}",
                                       spec.decode_instructions, of_task),
                           fmt::format("use {:g} or less, or raise task_instructions or threads", of_task)};
  }
  // For each pair of ranks, the fused kernel has one ready flag and one counter per slice.
  const EmbeddingSizes sizes(spec, static_cast<program::Rank>(ranks));
  const double slices = std::ceil(static_cast<double>(sizes.tasks_per_rank * spec.bags_per_workgroup) /
                                  static_cast<double>(spec.slice_vectors));
  const double flags = static_cast<double>(ranks) * static_cast<double>(ranks) * (1 + slices);
  if (spec.schedule == Schedule::fused && flags > most_flags) {
    return config::Problem{
        fmt::format("{} ranks with {:.0f} slices for each peer need {:.2g} flags, but only {:.2g} are possible", ranks,
                    slices, flags, most_flags),
        "raise slice_vectors or use fewer ranks"};
  }
  if (exchanges && spec.engine == collective::Engine::cu && !spec.library && !system.software.library) {
    return config::Problem{"the bulk-synchronous schedule needs a collective library",
                           "write library: ../libraries/rccl.yaml here or in the system, or engine: dma inside a node"};
  }
  if (exchanges) {
    if (auto problem = collective::check(exchange_of(spec, sizes, static_cast<program::Rank>(ranks)), system))
      return problem;
  }
  const double tables = static_cast<double>(spec.tables_per_gpu) * static_cast<double>(spec.rows_per_table) *
                        static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype);
  if (tables > system.node.gpu.hbm.capacity.value) {
    return config::Problem{fmt::format("tables of {:.1f} GB per GPU do not fit into its memory of {:.1f} GB",
                                       tables * 1e-9, system.node.gpu.hbm.capacity.value * 1e-9),
                           "lower rows_per_table or tables_per_gpu"};
  }
  return std::nullopt;
}

namespace {

// Returns the number of rounds in which a workgroup loads the row numbers of a task. In each round every thread does
// one load.
double index_loads(const EmbeddingSpec& spec) {
  const double bytes = static_cast<double>(spec.bags_per_workgroup * spec.pooling) * spec.index_bytes.value;
  return std::ceil(bytes / (static_cast<double>(spec.threads) * load_bytes));
}

// Returns the number of instructions that add an element to an fp32 sum: the addition, one more that turns bf16 into
// fp32, and two for fp16. Counted on H200: 4.0, 16.3 and 24.3 of the instructions of a load of 16 bytes.
double addition_instructions(builder::DataType dtype) {
  return dtype == builder::DataType::fp32 ? 1 : dtype == builder::DataType::bf16 ? 2 : 3;
}

}  // namespace

program::PhaseShape gather_shape(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, std::string name,
                                 const Walk& walk) {
  const auto bags = static_cast<double>(spec.bags_per_workgroup);
  const auto pooling = static_cast<double>(spec.pooling);
  const double row = static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype);
  const double indices = pooling * spec.index_bytes.value;  // bytes of the row numbers of a vector
  program::PhaseShape shape;
  shape.name = std::move(name);
  shape.read = pooling * row + indices;
  memory::loads_rows(gpu.hbm, Bytes{row}, shape);
  memory::TableReads reads{.tables = spec.tables_per_gpu,
                           .rows = spec.rows_per_table,
                           .row_bytes = Bytes{row},
                           .passes = walk.passes,
                           .reads_per_pass = spec.global_batch * spec.pooling / walk.passes,
                           .zipf_exponent = spec.zipf_exponent,
                           .rows_per_load = std::clamp(static_cast<double>(gpu.compute.wavefront) * load_bytes / row,
                                                       1.0, std::max(1.0, bags)),
                           .numbers = spec.index_bytes,
                           .results = Bytes{row / pooling},
                           .loads = spec.row_loads};
  reads.tables_at_once = static_cast<double>(walk.workgroups) * bags * static_cast<double>(walk.passes) /
                         static_cast<double>(spec.global_batch);
  const double tasks = static_cast<double>(spec.tables_per_gpu * spec.global_batch) / bags;
  const double workgroups = std::min(static_cast<double>(walk.workgroups), std::ceil(tasks));
  reads.workgroups_per_cu = workgroups / static_cast<double>(gpu.compute.total_cus());
  const memory::TableTraffic traffic = memory::table_traffic(gpu.l2, reads);
  shape.l2_extra = pooling * row * traffic.extra;
  // One batch of each CU waits for its popular lines. Further workgroups of the CU fill this time.
  shape.slice_wait =
      std::min(workgroups, static_cast<double>(gpu.compute.total_cus())) * traffic.extra / gpu.l2.bandwidth.value;
  shape.read_merged = pooling * row / shape.read * traffic.merged;
  // The further persistent workgroups get, the more tables they read at the same time.
  const double of_first_tasks = reads.tables_at_once;
  const double rounds = static_cast<double>(spec.tables_per_gpu * walk.passes) / of_first_tasks;
  const int points = walk.progress_window > 0 ? 8 : 1;
  double row_hits = 0;
  for (int point = 0; point < points; ++point) {
    reads.tables_at_once = of_first_tasks * (1 + walk.progress_window * rounds * (point + 0.5) / points);
    row_hits += memory::table_hit_ratio(gpu.l2, gpu.memory_side_cache, reads) / points;
  }
  shape.read_miss = (pooling * row * (1 - row_hits) + indices) / shape.read;
  shape.flop = pooling * static_cast<double>(spec.dim);
  // A workgroup loads a batch of rows, sums them, and loads the next batch. A batch has as many rows of every bag of
  // the task as fit into the spec's `in_flight`. The shape's `in_flight` is the mean over the batches of a task.
  shape.pipelined = false;
  shape.random_rows = true;
  const double rows_at_once = std::max(1.0, std::floor(spec.in_flight.value / (bags * row)));
  const double batches = std::ceil(pooling / rows_at_once);
  shape.in_flight = Bytes{std::min(spec.in_flight.value, bags * row * pooling / batches)};
  if (std::count(spec.split_batches.begin(), spec.split_batches.end(), spec.dtype) > 0)
    shape.row_waits = std::floor(pooling / rows_at_once) / bags;
  shape.dependent_loads = index_loads(spec) / bags;
  shape.dependent_read = indices;
  if (spec.task_instructions + spec.load_instructions > 0) {
    // A batch has as many loads when a bag has fewer rows: the loads without a row are masked, but issued.
    const auto threads = static_cast<double>(spec.threads);
    const double loads = batches * std::max(1.0, std::floor(spec.in_flight.value / (threads * load_bytes)));
    const double of_load =
        spec.load_instructions + addition_instructions(spec.dtype) * load_bytes / builder::bytes_of(spec.dtype);
    const double wavefronts = wavefronts_of(spec, gpu);
    shape.instructions.with_loads = wavefronts * loads * of_load / bags;
    shape.instructions.all = shape.instructions.with_loads + wavefronts * spec.task_instructions / bags;
    shape.instructions.integer = spec.integer_share * shape.instructions.all;
    if (spec.schedule == Schedule::fused) shape.instructions.lone = spec.decode_instructions / bags;
  }
  shape.pause = Time{static_cast<std::int64_t>(std::lround(static_cast<double>(spec.task_overhead.ps) / bags))};
  return shape;
}

double results_written_back(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, const program::PhaseShape& gather) {
  const auto vectors = static_cast<double>(spec.tables_per_gpu * spec.global_batch);
  const double vector_bytes = static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype);
  return memory::written_back(gpu.l2, gpu.memory_side_cache, Bytes{vectors * vector_bytes},
                              Bytes{vectors * gather.read * gather.read_miss}, spec.row_loads);
}

Time before_first_rows(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, std::int64_t resident) {
  const auto loads = static_cast<std::int64_t>(index_loads(spec));
  const cu::CuArraySpec& compute = gpu.compute;
  // The resident workgroups of a CU issue in step.
  const double per_cu = std::ceil(static_cast<double>(resident) / static_cast<double>(compute.total_cus()));
  const double in_turn = compute.issue_per_clock ? per_cu * wavefronts_of(spec, gpu) / *compute.issue_per_clock : 0;
  const double clocks =
      compute.issue_interval ? spec.task_instructions * std::max(*compute.issue_interval, in_turn) : 0;
  return spec.start_up + spec.task_overhead + Time::from_seconds(clocks / compute.clock.value) +
         gpu.hbm.unloaded_latency * loads;
}

program::PhaseShape of_first_task(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, program::PhaseShape gather) {
  gather.dependent_loads = 0;
  gather.pause = Time{};
  if (gpu.compute.issue_interval) {
    const double of_bag =
        wavefronts_of(spec, gpu) * spec.task_instructions / static_cast<double>(spec.bags_per_workgroup);
    program::Instructions& left = gather.instructions;
    left.integer *= left.all > 0 ? std::max(0.0, left.all - of_bag) / left.all : 0;
    left.all = std::max(0.0, left.all - of_bag);
    left.lone = 0;
  }
  return gather;
}

collective::Collective exchange_of(const EmbeddingSpec& spec, const EmbeddingSizes& sizes, program::Rank ranks) {
  return {.kind = collective::Kind::all_to_all,
          .bytes = sizes.bytes_per_peer * ranks,
          .method = {.engine = spec.engine, .own_share = collective::OwnShare::copied, .library = spec.library}};
}

void append_embedding_all_to_all(builder::Builder& build, const EmbeddingSpec& spec) {
  switch (spec.schedule) {
    case Schedule::fused:
      return append_fused_embedding(build, spec);
    case Schedule::unfused_kernel:
      return append_unfused_embedding(build, spec);
    case Schedule::bulk_synchronous:
      append_unfused_embedding(build, spec);
      [[fallthrough]];
    case Schedule::all_to_all:
      return collective::append(build, exchange_of(spec, EmbeddingSizes(spec, build.ranks()), build.ranks()),
                                "all_to_all");
  }
}

namespace {

// Returns the keys of this operator that follow from the header of a workgroup trace, if the recorders of
// validation/h200 have written the header.
std::vector<std::pair<std::string, std::string>> keys_of_trace(const program::WgTraceHeader& header) {
  std::vector<std::pair<std::string, std::string>> keys;
  const auto find = [&](std::string_view key) -> const std::string* {
    const auto found = std::find_if(header.provenance.begin(), header.provenance.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    return found == header.provenance.end() ? nullptr : &found->second;
  };
  const auto set = [&](std::string_view key, std::string_view value) { keys.emplace_back(key, value); };
  const std::string* shape = find("shape");
  if (!shape) return keys;
  for (std::string_view left = *shape; !left.empty();) {
    const std::string_view entry = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = entry.substr(0, equals);
    set(key == "bags_per_task" ? "bags_per_workgroup" : key, entry.substr(equals + 1));
  }
  if (const std::string* rows = find("rows_per_table")) set("rows_per_table", *rows);
  if (const std::string* order = find("order")) set("order", *order == "remote_first" ? "peer_by_peer" : "by_table");
  if (const std::string* popularity = find("row_popularity")) {
    constexpr std::string_view zipf = "zipf ";
    const bool skewed = popularity->compare(0, zipf.size(), zipf) == 0;
    set("zipf_exponent", skewed ? std::string_view(*popularity).substr(zipf.size()) : "0");
  }
  const bool unfused = header.kernel == "unfused_embedding";
  if (unfused) set("schedule", "unfused_kernel");
  set("threads", std::to_string(header.threads_per_wg));
  set(unfused ? "registers_per_thread" : "fused_registers_per_thread", std::to_string(header.registers_per_thread));
  set("in_flight", fmt::format("{} B", header.bytes_in_flight_per_wg));
  return keys;
}

}  // namespace

builder::Operator embedding_operator() {
  auto made =
      builder::make_operator<EmbeddingSpec>("embedding_all_to_all", append_embedding_all_to_all, check_embedding);
  made.keys_of_trace = keys_of_trace;
  return made;
}

}  // namespace moire::kernel
