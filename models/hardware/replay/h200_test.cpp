// Compares copies and launches of configs/hardware/h200.yaml with measurements of one host with 4 H200. Unless a test
// says otherwise, measured numbers are the 256 MiB rows of copy_engine_patterns.csv: the time from a common start,
// before which all copies were enqueued, to the end of the copy. Tolerances are the errors that the model has, not a
// goal (models/hardware/dma/README.md). The parameters were fitted to a later measurement on another host, with equal
// weights for all sizes.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/config/config.hpp"
#include "tests/support/example_program.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::replay {
namespace {

using program::Program;

constexpr double mib = 1024 * 1024;

machine::SystemSpec four_h200() {
  config::Diagnostics diagnostics;
  const auto root =
      config::load(std::filesystem::path(support::source_dir()) / "configs/systems/4xh200.yaml", {}, diagnostics);
  const auto spec = root ? config::parse<machine::SystemSpec>(*root, diagnostics) : std::nullopt;
  EXPECT_TRUE(spec && diagnostics.ok()) << diagnostics.str();
  machine::SystemSpec system = spec.value_or(machine::SystemSpec{});
  // In the measurement, all copies were enqueued before the common start.
  system.node.gpu.host.enqueue = Time{};
  system.node.gpu.host.copy_enqueue = Time{};
  system.node.gpu.host.poll_interval.reset();  // the release came a fixed time after the copies were enqueued
  return system;
}

struct CopyOf {
  Rank from, to;
};

// Runs every copy of a GPU in a queue of its own. Returns the end times in us, in the order of the list.
std::vector<double> copy_ends(const std::vector<CopyOf>& copies, double bytes) {
  std::array<std::vector<std::size_t>, 4> of_rank;  // by rank: indices of its copies in `copies`
  for (std::size_t i = 0; i < copies.size(); ++i) of_rank[copies[i].from].push_back(i);
  std::size_t streams = 0;
  for (const auto& own : of_rank) streams = std::max(streams, own.size());
  Program program(4);
  for (std::size_t s = 0; s < streams; ++s) {
    const std::string name = "copy " + std::to_string(s);
    const auto transfer = [=](Rank rank) {  // a rank without a copy here moves no byte
      return s < of_rank[rank].size() ? program::Transfer{copies[of_rank[rank][s]].to, {bytes}}
                                      : program::Transfer{rank, {0}};
    };
    program.queues.push_back(queue(name, {program::Copy{name, transfer}}));
  }
  Watcher watcher;
  EXPECT_EQ(run(four_h200(), program, &watcher).deadlock, "");
  std::vector<double> ends(copies.size());
  for (const Watcher::Copy& span : watcher.copies) {
    if (span.peer != span.rank) ends[of_rank[span.rank][std::stoul(span.name.substr(5))]] = span.end.us();
  }
  return ends;
}

void expect_within(double modelled, double measured, double percent) {
  EXPECT_NEAR(modelled, measured, measured * percent / 100) << (modelled / measured - 1) * 100 << " %";
}

TEST(H200Copies, ASingleCopy) {
  expect_within(copy_ends({{0, 1}}, 256 * mib)[0], 688.4, 2);
  expect_within(copy_ends({{0, 1}}, 1 * mib)[0], 12.7, 4);
}

// Known error: a copy of 64 KiB took 6.8 us on the measured host, and 10.1 us in the later measurement on another host.
// The model gives 10 us.
TEST(H200Copies, ASmallCopyIsTooSlow) {
  const double modelled = copy_ends({{0, 1}}, 64 * 1024)[0];
  const dma::DmaSpec dma = four_h200().node.gpu.dma;
  EXPECT_NEAR(modelled, dma.first_command.us() + 64 * 1024 / dma.bandwidth.value * 1e6, 0.001);
  EXPECT_GT(modelled, 6.8 * 1.4);
}

TEST(H200Copies, CopiesOfAGpuGoOneAfterTheOther) {
  const std::vector<double> same = copy_ends({{0, 1}, {0, 1}}, 256 * mib);
  expect_within(same[0], 686.5, 2);
  expect_within(same[1], 1367.6, 2);
  const std::vector<double> three = copy_ends({{0, 1}, {0, 2}, {0, 3}}, 256 * mib);
  expect_within(three[0], 684.2, 2);
  expect_within(three[1], 1366.9, 2);
  expect_within(three[2], 2050.0, 2);
}

TEST(H200Copies, OppositeDirectionsDoNotMeet) {
  const std::vector<double> both = copy_ends({{0, 1}, {1, 0}}, 256 * mib);
  expect_within(both[0], 692.1, 1);
  expect_within(both[1], 693.9, 1.5);
}

TEST(H200Copies, FanInSharesTheReceiversPort) {
  const std::vector<double> ends = copy_ends({{1, 0}, {2, 0}, {3, 0}}, 256 * mib);
  const machine::GpuSpec gpu = four_h200().node.gpu;
  const double port = static_cast<double>(gpu.port.links) * gpu.port.link_bandwidth.value * *gpu.port.copy_efficiency;
  for (const double end : ends) {
    EXPECT_NEAR(end, gpu.dma.first_command.us() + 3 * 256 * mib / port * 1e6, 0.01);
    expect_within(end, 2017, 2);  // measured: 2001-2026 us
  }
}

TEST(H200Copies, SixteenChunksOnOneStream) {
  for (const auto& [total, measured, percent] :
       {std::tuple{1 * mib, 47.6, 3.}, {4 * mib, 54.6, 4.}, {16 * mib, 83.9, 6.}, {64 * mib, 225.1, 5.}}) {
    Program program(4);
    std::vector<program::Operation> chunks;
    for (int i = 0; i < 16; ++i)
      chunks.emplace_back(copy("chunk", total / 16, [](Rank rank) { return (rank + 1) % 4; }));
    program.queues = {queue("main", std::move(chunks))};
    const double modelled = run(four_h200(), program).end.us();
    const dma::DmaSpec dma = four_h200().node.gpu.dma;
    EXPECT_NEAR(modelled, dma.first_command.us() + 15 * dma.next_command.us() + total / dma.bandwidth.value * 1e6,
                0.01);
    expect_within(modelled, measured, percent);
  }
}

// Each GPU copies to its peers in one stream, in rotated order, so that no two GPUs copy to the same peer at a time.
// Measured: 2067.5-2070.6 us.
TEST(H200Copies, ADirectAllGatherInRotatedOrder) {
  Program program(4);
  std::vector<program::Operation> copies;
  for (Rank turn = 1; turn < 4; ++turn)
    copies.emplace_back(copy("copy", 256 * mib, [=](Rank rank) { return (rank + turn) % 4; }));
  program.queues = {queue("main", std::move(copies))};
  expect_within(run(four_h200(), program).end.us(), 2069, 1.5);
}

// Small kernels launched into a stream start every 2.5 us, limited by the host (gpu-benches). If they are enqueued
// ahead of time, there are 1.79 us between the end of a kernel and the start of the next kernel (microbench.csv).
// queue_gap is a little shorter, because it was fitted to three kinds of kernels. In a graph, there are 0.8 us
// (gpu-benches), but graphs are not modelled.
TEST(H200Launch, ChainsOfSmallKernels) {
  const auto per_kernel = [](const machine::SystemSpec& system) {
    Program program(4);
    std::vector<program::Operation> kernels;
    for (int i = 0; i < 101; ++i) {
      kernels.emplace_back(kernel("small", 1, [](Rank, std::int64_t) { return Steps{delay(Time::from_ns(540))}; }));
    }
    program.queues = {queue("main", std::move(kernels))};
    const Result result = run(system, program);
    return (result.end - result.operations[0].end).us() / 100;
  };
  machine::SystemSpec system = four_h200();
  EXPECT_NEAR(per_kernel(system), 1.79 + 0.54, 0.06);
  system.node.gpu.host.enqueue = Time::from_us(2.5);
  EXPECT_NEAR(per_kernel(system), 2.5, 1e-6);
}

}  // namespace
}  // namespace moire::replay
