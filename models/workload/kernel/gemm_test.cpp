#include "models/workload/kernel/gemm.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/workload/kernel/gemm_traffic.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::kernel {
namespace {

using libraries::example_equipped;
using ::testing::HasSubstr;

// Returns a system of one GPU with 8 CUs in 2 groups, whose matrix units have 5 TFLOP/s per CU. A tile of 64 x 64 with
// k = 1,250 has 10.24 MFLOP and takes 2.048 us. The time of its loads and stores is negligible.
libraries::EquippedSystem system(libraries::Schedule schedule = libraries::Schedule::one_tile) {
  libraries::EquippedSystem system = example_equipped(1);
  machine::GpuSpec& gpu = system.node.gpu;
  libraries::GemmLibrarySpec& library = system.software.gemm;
  gpu.l2.capacity = {1e9};
  gpu.l2.bandwidth = {1e15};
  gpu.l2.hit_latency = Time::from_ns(1);
  gpu.hbm.bandwidth = {1e15};
  gpu.hbm.unloaded_latency = Time::from_ns(1);
  gpu.compute.load_store_per_cu = {1e15};
  gpu.compute.bytes_in_flight_per_cu = {1e9};
  library.tiles = {"64x64x50x2"};
  library.threads = 1024;  // one workgroup per CU
  library.registers_per_thread = 32;
  library.schedule = schedule;
  library.store_in_flight = {1e9};
  return system;
}

constexpr double tile_us = 2.048;

libraries::EquippedGpu equipped_gpu() {
  const libraries::EquippedSystem whole = system();
  return {whole.node.gpu, whole.software.gemm};
}

double gemm_us(const libraries::EquippedSystem& system, const GemmSpec& spec, replay::Result* result = nullptr) {
  program::Program program(1);
  program::Queue& queue = program.queues.emplace_back();
  queue.name = "main";
  builder::Builder build{system, program, queue, "gemm"};
  EXPECT_EQ(check_gemm(spec, system), std::nullopt);
  append_gemm(build, spec);
  const replay::Result all = replay::run(system, program);
  if (result != nullptr) *result = all;
  return all.end.us();
}

GemmSpec of(std::int64_t rows, std::int64_t columns) { return {.m = 64 * rows, .n = 64 * columns, .k = 1250}; }

// Four blocks of one row of tiles each: neighbouring workgroups compute tiles of one row. 8 workgroups at a time
// compute 8 / columns tiles of a column.
TEST(Gemm, BlocksOfOneRowOfTilesReadMoreFromTheL2) {
  libraries::EquippedSystem on = system();
  on.node.gpu.l2.lone_read_cost = 1.45;
  on.node.gpu.l2.readers_together = 4;
  const auto extra = [&](GemmSpec spec) {
    const program::PhaseShape loop = launch_of(spec, on.node.gpu, on.software.gemm, 8).main_loop;
    return loop.l2_extra / loop.read;
  };
  GemmSpec spec = of(4, 8);
  EXPECT_EQ(extra(spec), 0) << "one block";
  spec.row_blocks = 4;
  EXPECT_NEAR(extra(spec), 0.45, 1e-12);
  spec.n = 64 * 4;
  EXPECT_NEAR(extra(spec), 0.45 * 2 / 3, 1e-12) << "two tiles of each column at a time";
  spec.n = 64 * 2;
  EXPECT_EQ(extra(spec), 0) << "four tiles of each column at a time";
  spec.blocks_arrive = true;
  EXPECT_NEAR(extra(spec), 0.45, 1e-12) << "blocks whose rows arrive one after the other do not run in step";
  spec.row_blocks = 2;
  EXPECT_EQ(extra(spec), 0) << "two rows of tiles per block";
  spec.blocks_arrive = false;
  spec.row_blocks = 3;
  EXPECT_EQ(extra(spec), 0) << "blocks that are not whole rows of tiles";
}

TEST(Gemm, TakesWavesOfTiles) {
  for (const auto& [rows, columns, waves] : {std::tuple{1, 1, 1}, {2, 4, 1}, {3, 3, 2}, {4, 4, 2}, {1, 17, 3}}) {
    EXPECT_NEAR(gemm_us(system(), of(rows, columns)), waves * tile_us, 0.02 * waves) << rows << " x " << columns;
  }
}

// With two stages and late release, one stage is under way. It takes the latency of the memory (1 us), plus the time in
// which the memory serves the stages of all workgroups that run at the same time. The k of 1,250 has 25 stages.
TEST(Gemm, AWaveOfTilesWithTwoStagesWaitsForAllItsLoads) {
  libraries::EquippedSystem late = system();
  late.node.gpu.hbm.bandwidth = {1e12};
  late.node.gpu.hbm.unloaded_latency = Time::from_us(1);
  late.node.gpu.hbm.latency_growth = 0;
  late.software.gemm.release_lag = 1;
  late.software.gemm.longest_in_step = 100;
  const auto stages_us = [](double missed, int workgroups) { return 25 * (1 + 1e-6 * missed * workgroups); };
  // bytes of a stage that the workgroups do not find in the L2: their columns of B, and their part of the 64 rows of A
  const auto missed = [](double tiles) { return (64 + 64 / tiles) * 50 * 2; };
  EXPECT_NEAR(gemm_us(late, of(1, 1)), stages_us(missed(1), 1), 0.05);
  EXPECT_NEAR(gemm_us(late, of(1, 8)), stages_us(missed(8), 8), 0.05);
  EXPECT_NEAR(gemm_us(late, of(1, 12)), stages_us(missed(12), 8) + stages_us(missed(12), 4), 0.1) << "a wave of four";
  EXPECT_LT(gemm_us(system(), of(1, 8)), 25 * 0.5) << "with both stages under way, a stage takes half of the latency";
  late.software.gemm.longest_in_step = 1.02;
  EXPECT_NEAR(gemm_us(late, of(1, 8)), 25 * 1.02, 0.05) << "the workgroups fall out of step";
  late.software.gemm.tiles = {"64x64x50x4"};
  EXPECT_LT(gemm_us(late, of(1, 8)), 25 * 0.4) << "three of four stages are under way";
}

// 12 tiles are two waves on six and on eight CUs. In sum, the two waves wait for the same loads.
TEST(Gemm, TwoWavesAreNotSlowerOnMoreCus) {
  libraries::EquippedSystem late = system(libraries::Schedule::persistent_stride);
  late.node.gpu.hbm.bandwidth = {1e11};
  late.node.gpu.hbm.unloaded_latency = Time::from_us(1);
  late.node.gpu.hbm.latency_growth = 0;
  late.node.gpu.compute.load_store_per_cu = {32e9};  // a stage of 12.8 kB arrives in 0.4 us
  late.software.gemm.release_lag = 1;
  late.software.gemm.longest_in_step = 100;
  GemmSpec spec = of(1, 12);
  spec.cus = 6;
  const double on_six = gemm_us(late, spec);
  spec.cus = 8;
  EXPECT_LE(gemm_us(late, spec), on_six * 1.001);
}

TEST(Gemm, APartOfATileCostsAWholeOne) {
  GemmSpec spec = of(2, 4);
  spec.m -= 63;
  spec.n -= 1;
  spec.k -= 49;  // the last step along k, of 50, keeps a single element
  EXPECT_NEAR(gemm_us(system(), spec), tile_us, 0.02);
  spec = of(2, 4);
  spec.m += 1;
  EXPECT_NEAR(gemm_us(system(), spec), 2 * tile_us, 0.04) << "one more row of C takes four more tiles";
}

// Returns the time of a GEMM, in units of the time of a tile, beside a kernel that occupies one of the 8 CUs. A
// persistent kernel has 8 workgroups. The last one finds no place and starts when another one ends.
double beside_one(libraries::Schedule schedule, std::int64_t fixed, const GemmSpec& spec) {
  libraries::EquippedSystem beside = system(schedule);
  beside.software.gemm.fixed_tiles = fixed;
  program::Program program(1);
  program.queues.resize(2);
  program.queues[0].name = "blocker";
  program.queues[0].operations.emplace_back(replay::kernel(
      "blocker", 1, [](program::Rank, std::int64_t) { return replay::Steps{replay::delay(Time::from_us(1000))}; }));
  program.queues[1].name = "main";
  builder::Builder build{beside, program, program.queues[1], "gemm"};
  append_gemm(build, spec);
  return replay::run(beside, program).operations[1].end.us() / tile_us;
}

TEST(Gemm, PersistentWorkgroupsShareWhatALateOneDoesNotDo) {
  // 32 tiles are four waves of eight.
  EXPECT_NEAR(beside_one(libraries::Schedule::persistent_stride, 0, of(4, 8)), 4 + 4, 0.1)
      << "the late workgroup does its four tiles after the others";
  EXPECT_NEAR(beside_one(libraries::Schedule::persistent, 0, of(4, 8)), 5, 0.1)
      << "ceil(32 / 7): seven workgroups do all tiles, and the late one finds none";
  // Until the late workgroup starts at time 4, seven workgroups are busy. They do 31 of the 32 tiles, so three of them
  // do five. The late workgroup does its one fixed tile.
  EXPECT_NEAR(beside_one(libraries::Schedule::persistent, 1, of(4, 8)), 5, 0.1);
  // Seven workgroups do 30 tiles, so two of them do five. The late workgroup starts at time 4 and does its two fixed
  // tiles.
  EXPECT_NEAR(beside_one(libraries::Schedule::persistent, 2, of(4, 8)), 6, 0.1);
  EXPECT_NEAR(beside_one(libraries::Schedule::one_tile, 0, of(4, 8)), 5, 0.1);
}

// With 13 tiles on 8 workgroups, five workgroups have two tiles. With an interleave of two these are workgroups 0, 2,
// 4, 6 and 1. So the last workgroup, which starts late if the GPU has no place for it, has only one tile.
TEST(Gemm, FixedTilesMayBeInterleaved) {
  libraries::EquippedSystem two = system(libraries::Schedule::persistent);
  two.software.gemm.fixed_tiles = 2;
  two.software.gemm.interleave = 2;
  program::Program program(1);
  program::Queue& queue = program.queues.emplace_back();
  builder::Builder build{two, program, queue, "gemm"};
  append_gemm(build, of(1, 13));
  const auto& body = *std::get<program::Kernel>(queue.operations[0]).body;
  std::vector<int> tiles;
  for (std::int64_t wg = 0; wg < 8; ++wg) {
    program::Phase phase;
    tiles.push_back(0);
    for (std::uint32_t step = 0; body.phase(0, wg, step, phase); ++step, phase = {}) {
      tiles.back() += phase.kind == program::Phase::Kind::work && phase.shape == 0 ? 1 : 0;
    }
  }
  EXPECT_THAT(tiles, ::testing::ElementsAre(2, 2, 2, 1, 2, 1, 2, 1));
  EXPECT_EQ(body.items(0), 0);
}

TEST(Gemm, StreamKSharesTheStepsEqually) {
  // 9 tiles on 8 workgroups take one wave and an eighth, not two waves.
  EXPECT_NEAR(gemm_us(system(libraries::Schedule::stream_k), of(3, 3)), 9. / 8 * tile_us, 0.05);
  EXPECT_NEAR(gemm_us(system(libraries::Schedule::stream_k), of(2, 4)), tile_us, 0.02);
}

TEST(Gemm, PartsOfKRunSideBySideAndAreAddedUp) {
  libraries::EquippedSystem split = system();
  split.node.gpu.host.queue_gap = Time::from_us(1);
  GemmSpec spec = of(1, 2);
  spec.split_k = 4;
  replay::Result result;
  const double us = gemm_us(split, spec, &result);
  // A part of k has 1,250 / 4 = 312.5 elements, which take 7 steps of 50.
  EXPECT_NEAR(us, tile_us * 7 * 50 / 1250 + 1, 0.2);
  ASSERT_EQ(result.operations.size(), 2);
  EXPECT_EQ(result.operations[0].workgroups, 2 * 4);
  EXPECT_EQ(result.operations[1].name, "gemm_sum");
}

TEST(Gemm, ClustersOfTilesReachBeyondC) {
  GemmSpec spec = of(3, 2);
  spec.cluster = {.m = 4, .n = 1};
  const GemmLaunch launch = launch_of(spec, system().node.gpu, system().software.gemm, 8);
  EXPECT_EQ(launch.tiles, 4 * 2);
  EXPECT_EQ(launch.resources.cluster, 4);
  EXPECT_NEAR(gemm_us(system(), spec), tile_us, 0.02);
  // Seven free CUs hold one cluster of four workgroups, so the second cluster waits until the first ends.
  EXPECT_NEAR(beside_one(libraries::Schedule::one_tile, 0, spec), 2, 0.1);
}

// Every schedule does every FLOP of the whole tiles and moves every byte of the operands and of C.
TEST(Gemm, DoesTheWholeWork) {
  for (const libraries::Schedule schedule : {libraries::Schedule::one_tile, libraries::Schedule::persistent,
                                             libraries::Schedule::persistent_stride, libraries::Schedule::stream_k}) {
    for (const auto& [m, n, k] : {std::tuple{64, 64, 50}, {640, 1000, 333}, {65, 4096, 1250}, {2048, 2048, 2048}}) {
      GemmSpec spec{.m = m, .n = n, .k = k};
      spec.schedule = schedule;
      const libraries::EquippedSystem on = system();
      const GemmLaunch launch = launch_of(spec, on.node.gpu, on.software.gemm, 8);
      program::Program program(1);
      program::Queue& queue = program.queues.emplace_back();
      builder::Builder build{on, program, queue, "gemm"};
      append_gemm(build, spec);
      const auto& kernel = std::get<program::Kernel>(queue.operations[0]);
      double done[2] = {0, 0};
      const auto add = [&](const program::Phase& phase) {
        if (phase.kind == program::Phase::Kind::work) done[phase.shape] += phase.amount;
        return phase.kind == program::Phase::Kind::take;
      };
      bool takes = false;
      for (std::int64_t wg = 0; wg < kernel.body->workgroups(0); ++wg) {
        program::Phase phase;
        for (std::uint32_t step = 0; kernel.body->phase(0, wg, step, phase); ++step, phase = {}) takes |= add(phase);
      }
      for (std::int64_t item = 0; item < kernel.body->items(0); ++item) {
        program::Phase phase;
        for (std::uint32_t step = 0; kernel.body->item_phase(0, item, step, phase); ++step, phase = {}) add(phase);
      }
      EXPECT_EQ(takes, kernel.body->items(0) > 0);
      EXPECT_NEAR(done[0], 1, 1e-9);
      if (schedule != libraries::Schedule::stream_k) {
        EXPECT_NEAR(done[1], 1, 1e-9);
      }
      const double whole = 2. * 64 * ((m + 63) / 64) * 64 * ((n + 63) / 64) * 50 * ((k + 49) / 50);
      EXPECT_DOUBLE_EQ(launch.main_loop.flop, whole);
      EXPECT_DOUBLE_EQ(launch.main_loop.read * launch.main_loop.read_miss, 2. * (m + n) * k)
          << "both operands stay in the L2 of 1 GB";
      EXPECT_DOUBLE_EQ(launch.store.write, 2. * m * n);
    }
  }
}

Traffic traffic(const GemmShape& shape, const GemmKernel& kernel, std::int64_t resident,
                const libraries::EquippedGpu& gpu, const OutOfStep& out_of_step = {}) {
  return gemm_traffic(shape, kernel, resident, 1, out_of_step, gpu, gpu.gemm);
}

TEST(GemmTraffic, IsWhatTheCacheDoesNotHold) {
  libraries::EquippedGpu gpu = equipped_gpu();
  const GemmShape shape{640, 640, 1000, 2};  // operands of 1.28 MB, 10 x 10 tiles
  const GemmKernel kernel{{64, 64, 50, 1}, {1, 1}, 1};
  EXPECT_DOUBLE_EQ(traffic(shape, kernel, 10, gpu).requested, 2 * 10 * 1.28e6);
  EXPECT_DOUBLE_EQ(traffic(shape, kernel, 10, gpu).loaded, 2 * 1.28e6);
  // Each wave is a row of tiles, so B is read ten times. The cache of 0.704 MB holds half of B and of a wave's rows of
  // A, which have 1.408 MB together.
  gpu.l2.capacity = {0.704e6};
  EXPECT_NEAR(traffic(shape, kernel, 10, gpu).loaded, 2 * 1.28e6 + 9 * 1.28e6 / 2, 1);
  // With two rows of tiles at once, B is read five times. B and a wave's rows of A have 1.536 MB together.
  EXPECT_NEAR(traffic(shape, kernel, 20, gpu).loaded, 2 * 1.28e6 + 4 * 1.28e6 * (1 - 0.704 / 1.536), 1);
  // The workgroups of a wave share their rows of A: nine of ten loads are shared. The cache does not hold half of them,
  // and a tenth of these is loaded again.
  gpu.gemm.loaded_again = 0.1;
  EXPECT_NEAR(traffic(shape, kernel, 10, gpu).loaded, 2 * 1.28e6 + 9 * 1.28e6 / 2 + 9 * 1.28e6 / 2 * 0.1, 1);
  // Workgroups fall behind: by 1 % more in every wave, in ten waves 10 % in the mean. The panels of a wave have twice
  // the bytes of the cache. With a limit of 10 % they spend half of the waves at this limit, and have 7.5 % in the
  // mean.
  gpu.gemm.stride_drift = 0.01;
  gpu.gemm.stride_drift_most = 0.2;
  const auto again = [&](const OutOfStep& out_of_step) {
    return traffic(shape, kernel, 10, gpu, out_of_step).loaded - traffic(shape, kernel, 10, gpu).loaded;
  };
  EXPECT_NEAR(again({.waves = 10}), 9 * 1.28e6 * 0.1, 1);
  gpu.gemm.stride_drift_most = 0.1;
  EXPECT_NEAR(again({.waves = 10}), 9 * 1.28e6 * 0.075, 1);
  // Workgroups that get apart by half of a tile's time load as many panels meanwhile as the cache holds. Those that get
  // apart by a whole tile's time at once load twice as many, so the cache has lost half of them; if they are apart in
  // the second half of the kernel only, this half counts; and no workgroup is further apart than a tile's time.
  gpu.gemm.stride_drift = 0;
  const OutOfStep apart{.waves = 10, .leaving = 10, .per_wave = 100, .most = 1, .reload = 0.04};
  OutOfStep other = apart;
  other.most = 0.5;
  EXPECT_NEAR(again(other), 0, 1);
  EXPECT_NEAR(again(apart), 9 * 1.28e6 * 0.04 / 2, 1);
  other = apart;
  other.first = 5;
  EXPECT_NEAR(again(other), 9 * 1.28e6 * 0.04 / 4, 1);
  other = apart;
  other.most = 7;
  EXPECT_NEAR(again(other), 9 * 1.28e6 * 0.04 / 2, 1);
  // They get apart wave by wave, and stay so when no more tiles leave: in waves 0 to 5 linearly up to a whole tile's
  // time, of which the second half loses 1 - 1 / (2 x), in the mean 1 - log(2); then half of all.
  other = {.waves = 10, .leaving = 5, .per_wave = 0.2, .most = 1, .reload = 0.04};
  EXPECT_NEAR(again(other), 9 * 1.28e6 * 0.04 * (0.25 * (1 - std::log(2)) + 0.5 / 2), 200);
  // Stored lines leave less of the cache to loads.
  gpu.gemm.loaded_again = 0;
  gpu.l2.capacity = {4 * 0.704e6};
  gpu.l2.dirty_least = 0.75;
  EXPECT_NEAR(traffic(shape, kernel, 10, gpu).loaded, 2 * 1.28e6 + 9 * 1.28e6 / 2, 1);
}

// The ten rows of tiles are two stripes of five, because a stripe has at least four. A wave of 20 tiles covers four of
// the ten columns of a stripe, so A is loaded 2.5 times and B twice.
TEST(GemmTraffic, StripesMayBeHigher) {
  libraries::EquippedGpu gpu = equipped_gpu();
  gpu.l2.capacity = {1};
  const GemmShape shape{640, 640, 1000, 2};
  const GemmKernel kernel{{64, 64, 50, 1}, {1, 1}, 1};
  for (const auto& [tiles, rows] : {std::pair{4, 1}, {1, 200}, {4, 256}}) {
    gpu.gemm.stripe = tiles;
    gpu.gemm.stripe_rows = rows;
    EXPECT_NEAR(traffic(shape, kernel, 20, gpu).loaded, (2 + 2.5) * 1.28e6, 100);
  }
  gpu.gemm.stripe = gpu.gemm.stripe_rows = 1;
  const GemmKernel stated{{64, 64, 50, 1}, {1, 1}, 1, 4};
  EXPECT_NEAR(traffic(shape, stated, 20, gpu).loaded, (2 + 2.5) * 1.28e6, 100);
}

// Each block of rows loads again the part of B that the cache no longer holds.
TEST(GemmTraffic, EveryBlockOfRowsLoadsBAgain) {
  libraries::EquippedGpu gpu = equipped_gpu();
  const GemmShape shape{640, 640, 1000, 2};
  const GemmKernel kernel{{64, 64, 50, 1}, {1, 1}, 1};
  const auto loaded = [&](std::int64_t blocks) {
    return gemm_traffic(shape, kernel, 100, blocks, {}, gpu, gpu.gemm).loaded;
  };
  EXPECT_NEAR(loaded(5), 2 * 1.28e6, 1) << "both operands stay in the L2 of 1 GB";
  gpu.l2.capacity = {20e3};  // enough for hardly any of B
  EXPECT_NEAR(loaded(1), 2 * 1.28e6, 1);
  // part of B that the cache still holds when the next block begins
  const double kept = 1.28e6 * 20e3 / (1.28e6 * 1.2);
  EXPECT_NEAR(loaded(5), 6 * 1.28e6 - 4 * kept, 1);
  EXPECT_NEAR(loaded(1000), loaded(10), 1) << "there are ten rows of tiles";
}

TEST(GemmTraffic, AClusterLoadsWhatItSharesOnce) {
  const libraries::EquippedGpu gpu = equipped_gpu();
  const GemmShape shape{640, 640, 1000, 2};
  EXPECT_DOUBLE_EQ(traffic(shape, {{64, 64, 50, 1}, {2, 1}, 1}, 10, gpu).requested, (10 + 5) * 1.28e6);
  EXPECT_DOUBLE_EQ(traffic(shape, {{64, 64, 50, 1}, {2, 5}, 1}, 10, gpu).requested, (2 + 5) * 1.28e6);
}

// A GEMM loads less with fewer workgroups if workgroups fall behind and the cache is too small for the panels that many
// workgroups share.
TEST(GemmTraffic, FewerWorkgroupsMayFindMore) {
  libraries::EquippedGpu gpu = equipped_gpu();
  gpu.l2.capacity = {0.2e6};
  gpu.gemm.loaded_again = 1;
  const GemmShape shape{64, 6400, 1000, 2};
  const GemmKernel kernel{{64, 64, 50, 1}, {1, 1}, 1};
  EXPECT_LT(traffic(shape, kernel, 6, gpu).loaded, traffic(shape, kernel, 8, gpu).loaded);
}

TEST(GemmChoice, TakesTheTileThatFillsAWave) {
  libraries::EquippedGpu gpu = equipped_gpu();
  gpu.gemm.tiles = {"64x64x32x1", "128x64x32x1", "128x128x32x1"};
  const auto tile = [&](std::int64_t m, std::int64_t n) {
    const GemmKernel kernel = choose_kernel({m, n, 4096, 2}, gpu, gpu.gemm, 8);
    return std::pair{kernel.tile.m, kernel.tile.n};
  };
  EXPECT_EQ(tile(256, 128), (std::pair<std::int64_t, std::int64_t>{64, 64}));
  EXPECT_EQ(tile(256, 256), (std::pair<std::int64_t, std::int64_t>{128, 64}));
  EXPECT_EQ(tile(512, 256), (std::pair<std::int64_t, std::int64_t>{128, 128}));
}

TEST(GemmChoice, SplitsALongK) {
  libraries::EquippedGpu gpu = equipped_gpu();
  gpu.gemm.splits = {1, 2, 4, 8};
  EXPECT_EQ(choose_kernel({64, 64, 65536, 2}, gpu, gpu.gemm, 8).split, 8);
  EXPECT_EQ(choose_kernel({64, 128, 65536, 2}, gpu, gpu.gemm, 8).split, 4);
  EXPECT_EQ(choose_kernel({64, 64, 600, 2}, gpu, gpu.gemm, 8).split, 1) << "a part would be shorter than 512";
  EXPECT_EQ(choose_kernel({640, 640, 65536, 2}, gpu, gpu.gemm, 8).split, 1) << "there are more tiles than CUs";
}

TEST(CheckGemm, SaysWhatDoesNotFit) {
  const libraries::EquippedSystem on = system();
  const auto problem = [&](const std::function<void(GemmSpec&)>& change) {
    GemmSpec spec = of(2, 4);
    change(spec);
    return check_gemm(spec, on).value_or(config::Problem{}).str();
  };
  EXPECT_EQ(problem([](GemmSpec&) {}), "");
  EXPECT_THAT(problem([](GemmSpec& s) { s.cus = 9; }),
              HasSubstr("cus is 9, which is more than the GPU has; use at most 8"));
  EXPECT_THAT(problem([](GemmSpec& s) { s.tile = {.m = 256, .n = 256, .k = 64, .stages = 3}; }),
              HasSubstr("does not fit on a CU because of its lds"));
  EXPECT_THAT(problem([](GemmSpec& s) { s.cluster = {.m = 4, .n = 2}; }),
              HasSubstr("the clusters have 8 workgroups; use at most 4 on this GPU"));
  EXPECT_THAT(problem([](GemmSpec& s) { s.cluster = {.m = 4, .n = 1}, s.cus = 3; }),
              HasSubstr("no cluster of 4 workgroups fits on 3 CUs"));
  EXPECT_THAT(problem([](GemmSpec& s) { s.split_k = 256, s.k = 100; }), HasSubstr("use at most 100"));
}

}  // namespace
}  // namespace moire::kernel
