// Compares NCCL's profile with captured launches of NCCL 2.28 on 2 and 4 H200: the grid and the threads of each kernel,
// by size of the collective and limit of CTAs.
#include <gmock/gmock.h>

#include <array>

#include "models/workload/collective/collective.hpp"
#include "sim/config/config.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::collective {
namespace {

struct Launch {
  std::int64_t workgroups, threads;
};
using Launches = std::array<Launch, 7>;  // 64 KiB, 256 KiB, ... 256 MiB per rank

struct Captured {
  Kind kind;
  std::int64_t gpus;
  std::int64_t max_ctas;  // 0: the library's own limit
  Launches launches;
};

const std::vector<Captured>& captured() {
  constexpr std::int64_t ll = 512, simple = 544, ll128 = 640, p2p = 640;
  static const std::vector<Captured> all = {
      {Kind::all_gather,
       4,
       0,
       {{{16, ll}, {24, ll}, {24, simple}, {24, simple}, {24, simple}, {24, simple}, {24, simple}}}},
      {Kind::all_gather, 4, 8, {{{8, ll}, {8, ll}, {8, simple}, {8, simple}, {8, simple}, {8, simple}, {8, simple}}}},
      {Kind::all_reduce, 4, 0, {{{4, ll}, {16, ll}, {24, ll}, {24, ll128}, {24, simple}, {24, simple}, {24, simple}}}},
      {Kind::all_reduce, 4, 8, {{{4, ll}, {8, ll}, {8, ll}, {8, ll128}, {8, simple}, {8, simple}, {8, simple}}}},
      {Kind::reduce_scatter,
       4,
       0,
       {{{4, ll}, {16, ll}, {24, ll}, {24, simple}, {24, simple}, {24, simple}, {24, simple}}}},
      {Kind::reduce_scatter,
       4,
       16,
       {{{4, ll}, {16, ll}, {16, ll}, {16, simple}, {16, simple}, {16, simple}, {16, simple}}}},
      {Kind::all_gather,
       2,
       0,
       {{{16, ll}, {22, ll}, {24, ll}, {24, simple}, {24, simple}, {24, simple}, {24, simple}}}},
      {Kind::all_reduce, 2, 0, {{{8, ll}, {22, ll}, {24, ll}, {24, simple}, {24, simple}, {24, simple}, {24, simple}}}},
      {Kind::reduce_scatter,
       2,
       0,
       {{{8, ll}, {22, ll}, {24, ll}, {24, simple}, {24, simple}, {24, simple}, {24, simple}}}},
      {Kind::reduce_scatter, 2, 4, {{{4, ll}, {4, ll}, {4, ll}, {4, simple}, {4, simple}, {4, simple}, {4, simple}}}},
      {Kind::all_to_all, 4, 0, {{{7, p2p}, {25, p2p}, {28, p2p}, {32, p2p}, {32, p2p}, {32, p2p}, {32, p2p}}}},
      {Kind::all_to_all, 4, 16, {{{7, p2p}, {13, p2p}, {16, p2p}, {16, p2p}, {16, p2p}, {16, p2p}, {16, p2p}}}},
      {Kind::all_to_all, 2, 0, {{{5, p2p}, {18, p2p}, {24, p2p}, {32, p2p}, {32, p2p}, {32, p2p}, {32, p2p}}}},
  };
  return all;
}

TEST(Nccl, LaunchesWhatWasCaptured) {
  config::Diagnostics diagnostics;
  const auto root = config::load(support::source_dir() + "/configs/systems/4xh200.yaml", {}, diagnostics);
  ASSERT_TRUE(root) << diagnostics.str();
  const auto h200 = libraries::read_system(*root, diagnostics);
  ASSERT_TRUE(h200) << diagnostics.str();
  for (const Captured& row : captured()) {
    libraries::EquippedSystem system = *h200;
    system.node.gpus = row.gpus;
    double bytes = 65536;
    for (const Launch& launch : row.launches) {
      Collective collective{.kind = row.kind, .bytes = Bytes{bytes}};
      if (row.max_ctas > 0) collective.method.channels = row.max_ctas;
      program::Program program(static_cast<program::Rank>(row.gpus));
      program.queues.resize(1);
      builder::Builder build{system, program, program.queues[0]};
      ASSERT_EQ(check(collective, system), std::nullopt);
      append(build, collective, "collective");
      const auto& kernel = std::get<program::Kernel>(program.queues[0].operations.at(0));
      SCOPED_TRACE(std::string(name_of(row.kind)) + " of " + std::to_string(bytes) + " bytes on " +
                   std::to_string(row.gpus) + ", at most " + std::to_string(row.max_ctas));
      EXPECT_EQ(kernel.body->workgroups(0), launch.workgroups);
      EXPECT_EQ(kernel.resources.threads, launch.threads);
      EXPECT_EQ(kernel.resources.cluster, launch.workgroups % 4 == 0 ? 4 : 1);
      EXPECT_EQ(kernel.resources.lds.value, 103808);
      bytes *= 4;
    }
  }
}

}  // namespace
}  // namespace moire::collective
