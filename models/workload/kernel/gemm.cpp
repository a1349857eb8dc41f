#include "models/workload/kernel/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/cu/occupancy.hpp"
#include "models/hardware/memory/cache.hpp"
#include "models/workload/kernel/gemm_traffic.hpp"
#include "models/workload/kernel/operators.hpp"
#include "models/workload/kernel/shares.hpp"
#include "sim/core/log.hpp"
#include "sim/core/power.hpp"

namespace moire::kernel {

namespace {

constexpr std::uint16_t main_loop = 0, store = 1;
constexpr double sum_bytes = 4;  // bytes of an element of C in fp32, before it is rounded to the type of C

double real(std::int64_t x) { return static_cast<double>(x); }

class GemmBody final : public program::KernelBody {
 public:
  explicit GemmBody(const GemmLaunch& launch) : launch_(launch) {}
  std::int64_t workgroups(program::Rank) const override { return launch_.workgroups; }
  bool turns(program::Rank) const override { return true; }
  bool by_itself() const override { return true; }
  bool phase(program::Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    if (step == 0) {
      phase.kind = program::Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = launch_.start_up;
      return true;
    }
    if (launch_.schedule == libraries::Schedule::stream_k) return share_step(step - 1, phase);
    const std::int64_t number = (step - 1) / 2;
    const std::int64_t tile = place(workgroup) + number * launch_.workgroups;
    if (number < launch_.fixed_tiles && tile < launch_.tiles) return tile_step((step - 1) % 2, 1, phase);
    // After its fixed tiles, of which the last may be missing, a workgroup has one step that takes further tiles from
    // the counter.
    if (items(0) == 0 || number > launch_.fixed_tiles || (step - 1) % 2 == 1) return false;
    phase.kind = program::Phase::Kind::take;
    return true;
  }
  std::int64_t items(program::Rank) const override {
    return std::max<std::int64_t>(0, launch_.tiles - launch_.fixed_tiles * launch_.workgroups);
  }
  bool item_phase(program::Rank, std::int64_t, std::uint32_t step, program::Phase& phase) const override {
    return step < 2 && tile_step(step, 1, phase);
  }

 private:
  bool tile_step(std::uint32_t step, double tiles, program::Phase& phase) const {
    phase.kind = program::Phase::Kind::work;
    phase.shape = step == 0 ? main_loop : store;
    phase.posted = step == 1 && launch_.store_beside;
    phase.amount = tiles / real(launch_.tiles);
    return true;
  }
  // Returns the position of a workgroup in the order of the fixed tiles. With an interleave of i, the workgroups of
  // clusters 0, i, 2 i, ... come first, then those of clusters 1, i + 1, ...
  std::int64_t place(std::int64_t workgroup) const {
    const std::int64_t size = launch_.kernel.cluster_size();
    const std::int64_t clusters = launch_.workgroups / size;
    if (launch_.interleave == 1 || workgroup >= clusters * size) return workgroup;
    const std::int64_t cluster = workgroup / size;
    const std::int64_t turn = cluster % launch_.interleave, longer = clusters % launch_.interleave;
    const std::int64_t before = turn * (clusters / launch_.interleave) + std::min(turn, longer);
    return (before + cluster / launch_.interleave) * size + workgroup % size;
  }
  // Fills `phase` with a step of Stream-K, where every workgroup does an equal share of all steps along k. If a share
  // ends within a tile, the workgroup also stores the tile's partial sums for the workgroup that finishes the tile.
  bool share_step(std::uint32_t step, program::Phase& phase) const {
    if (step > 1) return false;
    const double share = real(launch_.tiles) / real(launch_.workgroups);
    const bool cut = launch_.tiles % launch_.workgroups != 0;
    return tile_step(step, step == 1 && cut ? share + launch_.tile_of_sums : share, phase);
  }

  GemmLaunch launch_;
};

// Instructions of a wavefront of the kernel that adds up the parts of a split k, and those for each element of a
// thread. NVIDIA's profiler counted 96 and 142 for one and two elements of two parts each on an H200
// (splitKreduce_kernel of cuBLASLt 13.1, 2026-11-29).
constexpr double reduction_instructions = 50, reduction_instructions_of_element = 46;

// Returns the kernel that adds up the partial sums of a split k. The L2 still holds those partial sums that have not
// been written back to memory during the main kernel. As in cuBLASLt, there is a workgroup for every 32 columns. From
// 17 rows on there are two, which take turns with blocks of 16 rows.
program::Kernel reduction(const GemmSpec& spec, const GemmLaunch& launch, double wavefront) {
  constexpr std::int64_t threads = 512, columns = 32;
  const double elements = real(spec.m) * real(spec.n);
  const std::int64_t workgroups = (spec.n + columns - 1) / columns * (spec.m > threads / columns ? 2 : 1);
  program::PhaseShape shape;
  shape.name = "sum";
  shape.read = elements * sum_bytes * real(launch.kernel.split);
  shape.read_miss = launch.store.write_miss;
  shape.write = elements * builder::bytes_of(spec.dtype);
  shape.write_miss = launch.store.write_miss;
  shape.pipelined = false;  // a thread loads its parts, waits for them and stores their sum
  shape.in_flight = Bytes{real(threads) * sum_bytes * real(launch.kernel.split)};
  shape.threads = threads;
  shape.instructions.all =
      (reduction_instructions * real(workgroups * threads) + reduction_instructions_of_element * elements) / wavefront;
  program::Kernel kernel;
  kernel.resources = {threads, 32, Bytes{}, 1};
  kernel.shapes = {shape};
  kernel.body = std::make_shared<SharesBody>(real(workgroups), 1 / real(workgroups));
  return kernel;
}

}  // namespace

void GemmSpec::describe(config::Describer<GemmSpec>& d) {
  d.component("gemm",
              "Dense matrix product C[m x n] = A[m x k] B[k x n] on every rank, by a kernel of the GPU's library.");
  d.field("m", &GemmSpec::m, "Rows of A and C").range(1, 1 << 24);
  d.field("n", &GemmSpec::n, "Columns of B and C").range(1, 1 << 24);
  d.field("k", &GemmSpec::k, "Columns of A, rows of B").range(1, 1 << 24);
  d.field("digits", &GemmSpec::digits,
          "How much the digits of the operands change from one element to the next: 1 for random numbers, 0 for zeros. "
          "It affects the power of matrix arithmetic, and so the clock under a power limit")
      .range(0, 1)
      .or_default();
  d.field("dtype", &GemmSpec::dtype, "Element type; fp32 runs on the vector units, others on the matrix units")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
  d.field("transposed_b", &GemmSpec::transposed_b,
          "true: B is stored as [n][k], such as the weights of a linear layer of PyTorch. Libraries may have other "
          "kernels for it (gpu.gemm.tiles_transposed)")
      .or_default();
  d.field("tile", &GemmSpec::tile, "Tile of a workgroup; absent: the library chooses (gpu.gemm)").optional();
  d.field("cluster", &GemmSpec::cluster, "Tiles of a cluster; absent: the library chooses").optional();
  d.field("split_k", &GemmSpec::split_k, "Number of parts of k; absent: the library chooses").range(1, 256).optional();
  d.field("schedule", &GemmSpec::schedule, "How tiles are assigned to workgroups; absent: the library chooses")
      .choices({{"one_tile", libraries::Schedule::one_tile},
                {"persistent", libraries::Schedule::persistent},
                {"persistent_stride", libraries::Schedule::persistent_stride},
                {"stream_k", libraries::Schedule::stream_k}})
      .optional();
  d.field("cus", &GemmSpec::cus, "Number of CUs that the library is told to use; absent: all")
      .range(1, 4096)
      .optional();
  d.field("stripe", &GemmSpec::stripe,
          "Rows of tiles in a stripe, in which the tiles of a column follow one another; absent: as in the kernels of "
          "the library")
      .range(1, 1 << 24)
      .optional();
}

namespace {

GemmShape shape_of(const GemmSpec& spec) {
  return {spec.m, spec.n, spec.k, builder::bytes_of(spec.dtype), spec.transposed_b};
}

std::int64_t cus_of(const GemmSpec& spec, const machine::GpuSpec& gpu) {
  return std::min(gpu.compute.total_cus(), spec.cus.value_or(gpu.compute.total_cus()));
}

GemmKernel kernel_of(const GemmSpec& spec, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  GemmKernel kernel = choose_kernel(shape_of(spec), gpu, library, cus_of(spec, gpu),
                                    {.tile = spec.tile ? &*spec.tile : nullptr,
                                     .cluster = spec.cluster ? &*spec.cluster : nullptr,
                                     .split = spec.split_k.value_or(0),
                                     .places_per_cu = spec.places_per_cu});
  kernel.stripe = spec.stripe.value_or(0);
  return kernel;
}

}  // namespace

namespace {

// Sets how long the bytes of a stage (the operands of one step along k) occupy their buffer in the LDS. Two laws apply:
//   - The stage must arrive from the L2, and the matrix units must use it, before the next loads into the buffer are
//     requested.
//   - If buffers are released late (release_lag), the next stage must also arrive before these loads are requested, so
//     one stage less than there are buffers is under way. The workgroups of a wave begin together, and each waits until
//     the lines of all are there. Half of the time in which a stage arrives at its CU counts, because the other half
//     passes while the wave's lines are loaded (a choice: with the longer of both times, a kernel on more CUs could be
//     slower). When a stage would take too long, the workgroups fall out of step (longest_in_step).
// The second law limits kernels with two stages. On an H200, such a kernel read 3.0 of 4.55 TB/s (64 x 448 x 64 x 2 for
// m = 64, n = 57344, k = 8192: traces/h200x2/gemm_shapes.measurements.csv).
void set_held(program::PhaseShape& loop, const libraries::TileSpec& tile, const GemmShape& shape, std::int64_t resident,
              const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  const double rate = main_loop_rate(gpu, library);
  const double stage = real(tile.m + tile.n) * real(tile.k) * 2;  // wider elements cover fewer elements of k
  const double use = 2 * real(tile.m) * real(tile.n) * real(tile.k) * (2 / shape.element) / rate;
  const double arrive = stage / gpu.compute.load_store_per_cu.value;
  loop.held = Time::from_ps((use + arrive) * 1e12);
  if (library.release_lag == 0) return;
  const double under_way = std::max(1.0, real(tile.stages - library.release_lag));
  const double after = tile.stages == 1 ? use : 0;  // the matrix units use the only stage while nothing is under way
  const double missed = loop.read_miss * stage, miss = gpu.hbm.unloaded_latency.seconds();
  const double last_line =
      miss + gpu.hbm.latency_spread.seconds() * core::logarithm(std::max(1.0, missed / gpu.l2.line.value));
  const double latency = (1 - loop.read_miss) * gpu.l2.hit_latency.seconds() + loop.read_miss * miss;
  // Returns the time besides the latency if the stages under way take `time`.
  const auto besides_latency = [&](double time) {
    return Time::from_seconds(real(tile.stages) / under_way * (time + after) - latency);
  };
  const Time in_step = besides_latency(last_line + arrive / 2);
  const double each = real(tile.stages) / under_way * missed / gpu.hbm.bandwidth.value;
  const Time most = besides_latency(last_line * library.longest_in_step);
  if (std::min(in_step + Time::from_seconds(each * real(resident)), most) <= loop.held) return;
  loop.held_in_step = in_step;
  loop.held_each = each;
  loop.held_most = most;
}

// Returns the additional bytes of L2 bandwidth per byte that tiles read. Neighbouring workgroups usually compute tiles
// of one column, so CUs that are neighbours read the same part of B. If every block of rows is one row of tiles,
// neighbours compute tiles of one row. The tiles of a column then run at the same time only if no block waits for its
// rows. (Blocks that are not whole rows of tiles are computed as one block.)
double l2_extra_share(const GemmSpec& spec, const TileGrid& grid, const GemmKernel& kernel, std::int64_t resident,
                      const machine::GpuSpec& gpu) {
  if (grid.rows < 2 || kernel.cluster_size() > 1) return 0;
  if (spec.blocks_arrive) return grid.rows > spec.row_blocks ? 0 : memory::lone_read_extra(gpu.l2, 1);
  if (spec.m != spec.row_blocks * kernel.tile.m) return 0;
  return memory::lone_read_extra(gpu.l2, real(resident) / real(grid.columns));
}

// Returns how far workgroups get out of step in `waves` waves of tiles that are assigned in advance.
OutOfStep out_of_step(const GemmSpec& spec, const libraries::TileSpec& tile, const TileGrid& grid, double waves,
                      double resident, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  OutOfStep apart{.waves = waves};
  if (spec.departures.share <= 0) return apart;
  const double elements = real(tile.m) * real(tile.n);
  const double links = resident * elements * builder::bytes_of(spec.dtype) / spec.departures.rate.value;
  const double of_tile = links / (2 * elements * real(grid.depth) / main_loop_rate(gpu, library));
  apart.leaving = spec.departures.share * waves;
  apart.first = library.stagger_after;
  apart.per_wave = library.stagger_per_wave * of_tile;
  apart.most = library.stagger_most * of_tile;
  apart.reload = spec.departures.beside ? library.stagger_reload_beside : library.stagger_reload;
  return apart;
}

}  // namespace

GemmLaunch launch_of(const GemmSpec& spec, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library,
                     std::int64_t cus) {
  const GemmShape shape = shape_of(spec);
  GemmLaunch launch;
  launch.kernel = kernel_of(spec, gpu, library);
  core::log_info("gemm {} x {} x {}: tiles of {} x {} x {}, clusters of {} x {}, k in {} part{}", spec.m, spec.n,
                 spec.k, launch.kernel.tile.m, launch.kernel.tile.n, launch.kernel.tile.k, launch.kernel.cluster.m,
                 launch.kernel.cluster.n, launch.kernel.split, launch.kernel.split == 1 ? "" : "s");
  launch.schedule = spec.schedule.value_or(library.schedule);
  const TileGrid grid(shape, launch.kernel);
  launch.tiles = grid.tiles();
  launch.resources = resources_of(library, launch.kernel);
  const std::int64_t held =
      std::max<std::int64_t>(1, resident_workgroups(gpu, launch.resources, std::min(cus, cus_of(spec, gpu))));
  const std::int64_t resident = std::min(held, launch.tiles);
  launch.workgroups = launch.schedule == libraries::Schedule::one_tile ? launch.tiles : resident;
  launch.fixed_tiles = launch.schedule == libraries::Schedule::persistent
                           ? library.fixed_tiles
                           : (launch.tiles + launch.workgroups - 1) / launch.workgroups;
  launch.interleave = launch.schedule == libraries::Schedule::persistent ? library.interleave : 1;
  launch.start_up = library.start_up;
  launch.store_beside = library.store_beside;

  // Blocks that run at once share their loads of B, unless each of them waits for its rows.
  const std::int64_t waves = (launch.tiles + resident - 1) / resident;
  const std::int64_t blocks = spec.blocks_arrive ? spec.row_blocks : std::min(spec.row_blocks, waves);
  OutOfStep apart;
  if (launch.schedule == libraries::Schedule::persistent_stride) {
    const double waves_of_tiles = real(launch.tiles) / real(resident);
    apart = out_of_step(spec, launch.kernel.tile, grid, waves_of_tiles, real(resident), gpu, library);
  }
  const Traffic traffic = gemm_traffic(shape, launch.kernel, resident, blocks, apart, gpu, library);
  const libraries::TileSpec& tile = launch.kernel.tile;
  program::PhaseShape& loop = launch.main_loop;
  loop.name = "tile";
  loop.read = traffic.requested;
  loop.read_miss = traffic.loaded / traffic.requested;
  loop.l2_extra = loop.read * l2_extra_share(spec, grid, launch.kernel, resident, gpu);
  loop.flop = 2 * real(tile.m) * real(tile.n) * real(grid.depth) * real(launch.tiles) / library.main_loop;
  loop.unit =
      spec.dtype == builder::DataType::fp32 ? program::Arithmetic::vector_fp32 : program::Arithmetic::matrix_16bit;
  loop.power = loop.unit == program::Arithmetic::matrix_16bit ? spec.digits : 0;
  loop.in_flight = Bytes{real(tile.stages * tile.k * (tile.m + tile.n)) * 2};
  set_held(loop, tile, shape, resident, gpu, library);
  loop.threads = library.threads;
  program::PhaseShape& store = launch.store;
  store.name = "store";
  const double stored = real(spec.m) * real(spec.n) * (grid.parts > 1 ? sum_bytes * real(grid.parts) : shape.element);
  store.write = stored;
  // When the kernel ends, the L2 holds what the last wave has stored, or what was stored while the last lines came in.
  const auto in_cache = [&](double bytes) {
    return memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache, Bytes{bytes});
  };
  const double last_wave = std::min(real(resident) / real(launch.tiles), in_cache(stored));
  store.write_miss = 1 - std::max(last_wave, in_cache(stored + traffic.loaded));
  store.in_flight = library.store_in_flight.value_or(gpu.port.store_window_per_cu);
  store.threads = library.threads;
  launch.tile_of_sums = sum_bytes / (grid.parts > 1 ? sum_bytes : shape.element);
  return launch;
}

std::optional<config::Problem> check_gemm(const GemmSpec& spec, const libraries::EquippedSystem& system) {
  const machine::GpuSpec& gpu = system.node.gpu;
  const libraries::GemmLibrarySpec& library = system.software.gemm;
  const std::int64_t cus = gpu.compute.total_cus();
  if (spec.cus && *spec.cus > cus)
    return config::Problem{fmt::format("cus is {}, which is more than the GPU has", *spec.cus),
                           fmt::format("use at most {}", cus)};
  const double elements = real(spec.m) * real(spec.k) + real(spec.k) * real(spec.n) + real(spec.m) * real(spec.n);
  const double bytes = elements * builder::bytes_of(spec.dtype);
  if (bytes > gpu.hbm.capacity.value) {
    return config::Problem{fmt::format("matrices of {:.4g} GB do not fit into the memory of {:.4g} GB", bytes * 1e-9,
                                       gpu.hbm.capacity.value * 1e-9),
                           "make m, n or k smaller"};
  }
  if (spec.split_k && *spec.split_k > spec.k) {
    return config::Problem{fmt::format("split_k {} leaves some parts of k without any element", *spec.split_k),
                           fmt::format("use at most {}", spec.k)};
  }
  const GemmKernel kernel = kernel_of(spec, gpu, library);
  const program::WorkgroupResources resources = resources_of(library, kernel);
  if (kernel.cluster_size() > gpu.compute.cluster_max) {
    return config::Problem{fmt::format("the clusters have {} workgroups", kernel.cluster_size()),
                           fmt::format("use at most {} on this GPU", gpu.compute.cluster_max)};
  }
  if (cu::occupancy(gpu.compute, resources) == 0) {
    return config::Problem{
        fmt::format("a workgroup with a tile of {} x {} and {} stages of {} does not fit on a CU because of its {}",
                    kernel.tile.m, kernel.tile.n, kernel.tile.stages, kernel.tile.k,
                    cu::limiting_resource(gpu.compute, resources)),
        "use a smaller tile or fewer stages"};
  }
  if (resident_workgroups(gpu, resources, cus_of(spec, gpu)) == 0) {
    return config::Problem{
        fmt::format("no cluster of {} workgroups fits on {} CUs", kernel.cluster_size(), cus_of(spec, gpu)),
        "use a smaller cluster or more cus"};
  }
  return std::nullopt;
}

void append_gemm(builder::Builder& build, const GemmSpec& spec) { append_gemm(build, spec, "gemm"); }

void append_gemm(builder::Builder& build, const GemmSpec& spec, const std::string& name) {
  const GemmLaunch launch = launch_of(spec, build.gpu(), build.system.software.gemm, build.cus());
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = launch.resources;
  kernel.shapes = {launch.main_loop, launch.store};
  kernel.body = std::make_shared<GemmBody>(launch);
  build.queue.operations.emplace_back(std::move(kernel));
  if (launch.kernel.split == 1) return;
  program::Kernel sum = reduction(spec, launch, static_cast<double>(build.gpu().compute.wavefront));
  sum.name = build.unique(name + "_sum");
  build.queue.operations.emplace_back(std::move(sum));
}

builder::Operator gemm_operator() { return builder::make_operator<GemmSpec>("gemm", append_gemm, check_gemm); }

}  // namespace moire::kernel
