#include "models/workload/libraries/gemm_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sim/config/spec.hpp"

namespace moire::libraries {

namespace {

// Parses "128x256" as {128, 256}. Returns an empty vector unless there are `wanted` numbers from 1 to 4096.
std::vector<std::int64_t> numbers(std::string_view text, std::size_t wanted) {
  std::vector<std::int64_t> out;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || number < 1 || number > 4096) return {};
    out.push_back(number);
    if (next == end) break;
    if (*next != 'x') return {};
    at = next + 1;
  }
  if (out.size() != wanted) out.clear();
  return out;
}

std::optional<config::Problem> check_texts(const std::vector<std::string>& texts, std::size_t wanted, const char* what,
                                           const char* remedy) {
  for (const std::string& text : texts) {
    if (numbers(text, wanted).empty()) return config::Problem{fmt::format("'{}' does not name {}", text, what), remedy};
  }
  return std::nullopt;
}

}  // namespace

void TileSpec::describe(config::Describer<TileSpec>& d) {
  d.component("gemm_tile", "The part of C that one workgroup computes, and the steps along k in which it does so.");
  d.field("m", &TileSpec::m, "Rows of C").range(1, 4096);
  d.field("n", &TileSpec::n, "Columns of C").range(1, 4096);
  d.field("k", &TileSpec::k, "Length of one step along k").range(1, 4096).or_default();
  d.field("stages", &TileSpec::stages, "Number of steps whose operands fit into the LDS at the same time")
      .range(1, 64)
      .or_default();
}

void ClusterSpec::describe(config::Describer<ClusterSpec>& d) {
  d.component("gemm_cluster", "Workgroups that are placed together and load shared operands only once.");
  d.field("m", &ClusterSpec::m, "Tiles along m").range(1, 16).or_default();
  d.field("n", &ClusterSpec::n, "Tiles along n").range(1, 16).or_default();
}

void ChoiceSpec::describe(config::Describer<ChoiceSpec>& d) {
  d.component("gemm_choice",
              "How a library estimates the cost of a kernel; it chooses the cheapest. For each tile, the arithmetic, "
              "the loads from the L2 and the loads from memory are combined as the root of the sum of their squares; "
              "the store and the extra times are added, and the sum is multiplied by the number of waves.");
  d.field(
       "small_tile", &ChoiceSpec::small_tile,
       "Additional arithmetic, as a fraction, for each side of a tile: this value for a side of 64, half of it for a "
       "side of 128")
      .or_default();
  d.field("loads", &ChoiceSpec::loads, "Weight of the loads from the L2").or_default();
  d.field("unshared", &ChoiceSpec::unshared,
          "Share of the operands that a cluster loads once; this share is still counted for each of its workgroups")
      .range(0, 1)
      .or_default();
  d.field("memory", &ChoiceSpec::memory, "Weight of the loads from memory").or_default();
  d.field("few", &ChoiceSpec::few,
          "How the loads from memory grow if fewer tiles run at once than the GPU has CUs: by the CUs over these tiles "
          "to the power of this value")
      .range(0, 1)
      .or_default();
  d.field("part_wave", &ChoiceSpec::part_wave,
          "How an incomplete last wave counts: 0: as a whole wave; 1: only the share that is filled")
      .range(0, 1)
      .or_default();
  d.field("store", &ChoiceSpec::store, "Weight of the time to store a tile").or_default();
  d.field("tile", &ChoiceSpec::tile, "Additional time of every tile").or_default();
  d.field("reduction", &ChoiceSpec::reduction, "Weight of the kernel that adds the parts if k is split").or_default();
  d.field("single", &ChoiceSpec::single, "Additional time of a tile outside of clusters").or_default();
}

void GemmLibrarySpec::describe(config::Describer<GemmLibrarySpec>& d) {
  d.component("gemm_library", "The matrix products of a GPU: a file in configs/gemm.");
  d.sourced();
  d.field("name", &GemmLibrarySpec::name, "Library and version");
  d.field("tiles", &GemmLibrarySpec::tiles,
          "The kernels: rows x columns of their tile of C x step along k x stages in the LDS")
      .or_default();
  d.field("tiles_transposed", &GemmLibrarySpec::tiles_transposed,
          "The kernels for products whose B is stored as [n][k] (gemm.transposed_b); empty: `tiles`")
      .or_default();
  d.field("clusters", &GemmLibrarySpec::clusters,
          "Clusters in which each kernel can run: tiles along m x tiles along n")
      .or_default();
  d.field("splits", &GemmLibrarySpec::splits,
          "Numbers of parts into which k can be split; another kernel adds the parts")
      .range(1, 256)
      .or_default();
  d.field("shortest_part", &GemmLibrarySpec::shortest_part, "Smallest length of a part of k")
      .range(1, 1 << 20)
      .or_default();
  d.field("threads", &GemmLibrarySpec::threads, "Threads of a workgroup").range(32, 1024).or_default();
  d.field("registers_per_thread", &GemmLibrarySpec::registers_per_thread,
          "Registers per thread; absent: 1.5 times the sums of the tile that a thread holds, plus 32, but at least 64 "
          "and at most 512")
      .range(8, 512)
      .optional();
  d.field("lds", &GemmLibrarySpec::lds, "LDS of a workgroup in addition to its stages").or_default();
  d.field("schedule", &GemmLibrarySpec::schedule,
          "one_tile: one workgroup per tile; persistent: as many workgroups as the GPU holds, which take tiles one by "
          "one; persistent_stride: these workgroups walk over the tiles in equal steps; stream_k: each workgroup has "
          "an equal share of all steps")
      .choices({{"one_tile", Schedule::one_tile},
                {"persistent", Schedule::persistent},
                {"persistent_stride", Schedule::persistent_stride},
                {"stream_k", Schedule::stream_k}})
      .or_default();
  d.field("release_lag", &GemmLibrarySpec::release_lag,
          "number of later stages of the main loop that must have arrived before the buffer of a stage is free; 1 for "
          "asynchronous matrix instructions (wgmma), which still read a stage when the next one begins")
      .range(0, 1)
      .or_default();
  d.field("longest_in_step", &GemmLibrarySpec::longest_in_step,
          "if release_lag is 1: the workgroups of a wave, which wait for each other's loads, fall out of step when a "
          "stage would take longer than the latency of its slowest line times this number")
      .range(1, 1000)
      .or_default();
  d.field("fixed_tiles", &GemmLibrarySpec::fixed_tiles,
          "persistent: number of tiles that are fixed to a workgroup, however late it starts; it takes the other tiles "
          "from a counter")
      .range(0, 1 << 20)
      .or_default();
  d.field(
       "interleave", &GemmLibrarySpec::interleave,
       "persistent: order in which clusters get their fixed tiles; 2 means that clusters with even numbers come first")
      .range(1, 64)
      .or_default();
  d.field("main_loop", &GemmLibrarySpec::main_loop,
          "Share of the GPU's matrix rate (matrix_16bit x matrix_efficiency) that the main loop reaches")
      .range(0.01, 1)
      .or_default();
  d.field("tile_spread", &GemmLibrarySpec::tile_spread,
          "Standard deviation of the main loops of a wave over their mean; used only for kernels that store tiles to "
          "other GPUs, whose workgroups find the links idle or busy because of it")
      .range(0, 0.2)
      .or_default();
  d.field("start_up", &GemmLibrarySpec::start_up, "Time from the start of a workgroup until its pipeline is full")
      .or_default();
  d.field("start_up_behind_wait", &GemmLibrarySpec::start_up_behind_wait,
          "Part of start_up in which the first loads arrive: it follows the wait of a workgroup for rows of other GPUs")
      .or_default();
  d.field("start_up_of_mover", &GemmLibrarySpec::start_up_of_mover,
          "Time from the start of a workgroup that moves rows (all_gather_gemm, push and pull) until its first load")
      .or_default();
  d.field("store_in_flight", &GemmLibrarySpec::store_in_flight,
          "Bytes of its tile that a workgroup has in flight while it stores the tile; absent: "
          "port.store_window_per_cu, as with bulk stores from shared memory")
      .positive()
      .optional();
  d.field("store_beside", &GemmLibrarySpec::store_beside,
          "true: the store overlaps with the main loop of the next tile")
      .or_default();
  d.field("stripe", &GemmLibrarySpec::stripe,
          "Number of rows of tiles in a stripe: workgroups fill a stripe column by column, so that workgroups that run "
          "at the same time share panels of both A and B; a wave with more tiles than one row makes the stripe higher")
      .range(1, 1024)
      .or_default();
  d.field("stripe_rows", &GemmLibrarySpec::stripe_rows,
          "Number of rows of C that a stripe covers at least, if `stripe` rows of tiles cover fewer")
      .range(1, 1 << 24)
      .or_default();
  d.field(
       "loaded_again", &GemmLibrarySpec::loaded_again,
       "Share of the bytes that several workgroups of a wave load of the same panel, for which the panel has left the "
       "cache meanwhile; only if the cache cannot hold all panels of the wave")
      .range(0, 1)
      .or_default();
  d.field("stride_drift", &GemmLibrarySpec::stride_drift,
          "Growth of loaded_again per wave of a persistent_stride kernel (mean over the kernel), because workgroups on "
          "slower CUs fall behind; times the bytes by which the panels of a wave exceed the cache, over the cache")
      .range(0, 1)
      .or_default();
  d.field("stride_drift_most", &GemmLibrarySpec::stride_drift_most,
          "Share of the bytes that workgroups load again if they are out of step; the most that stride_drift adds")
      .range(0, 1)
      .or_default();
  d.field("stagger_per_wave", &GemmLibrarySpec::stagger_per_wave,
          "persistent_stride, tiles stored to other GPUs: how much further apart workgroups get in each wave, because "
          "those that store first wait less for the links; as a multiple of the time in which the links take the tiles "
          "of a wave")
      .range(0, 10)
      .or_default();
  d.field("stagger_most", &GemmLibrarySpec::stagger_most,
          "How far apart workgroups get by stagger_per_wave at most; as a multiple of the same time")
      .range(0, 100)
      .or_default();
  d.field("stagger_after", &GemmLibrarySpec::stagger_after,
          "Waves whose tiles leave before workgroups get apart by stagger_per_wave")
      .range(0, 1000)
      .or_default();
  d.field("stagger_reload", &GemmLibrarySpec::stagger_reload,
          "Growth of loaded_again by stagger_per_wave if the cache holds nothing of the panels that are loaded in the "
          "time that workgroups are apart; stride_drift_most limits it together with stride_drift")
      .range(0, 1)
      .or_default();
  d.field("stagger_reload_beside", &GemmLibrarySpec::stagger_reload_beside,
          "The same for workgroups that store a tile while they compute the next one")
      .range(0, 1)
      .or_default();
  d.field("choice", &GemmLibrarySpec::choice, "How the library chooses a kernel").or_default();
  d.check("start_up_behind_wait", [](const GemmLibrarySpec& s) -> std::optional<config::Problem> {
    if (s.start_up_behind_wait <= s.start_up) return std::nullopt;
    return config::Problem{"a part of start_up is longer than start_up", "write at most the time of start_up"};
  });
  d.check("tiles", [](const GemmLibrarySpec& s) -> std::optional<config::Problem> {
    if (s.tiles.empty())
      return config::Problem{"the library has no kernels", "write tiles: [128x128x64x3] with a source"};
    return check_texts(s.tiles, 4, "a tile", "write rows x columns x step x stages, like 128x256x64x4");
  });
  d.check("tiles_transposed", [](const GemmLibrarySpec& s) {
    return check_texts(s.tiles_transposed, 4, "a tile", "write rows x columns x step x stages, like 128x256x64x4");
  });
  d.check("clusters", [](const GemmLibrarySpec& s) -> std::optional<config::Problem> {
    if (s.clusters.empty())
      return config::Problem{"the list of clusters is empty",
                             "write [2x1], or remove the key if workgroups are not placed in clusters"};
    return check_texts(s.clusters, 2, "a cluster", "write tiles along m x tiles along n, like 2x1");
  });
  d.check("splits", [](const GemmLibrarySpec& s) -> std::optional<config::Problem> {
    if (std::find(s.splits.begin(), s.splits.end(), 1) == s.splits.end())
      return config::Problem{"the list does not contain 1, so every product would have to split k", "add 1"};
    return std::nullopt;
  });
}

std::vector<TileSpec> GemmLibrarySpec::kernels(bool transposed_b) const {
  std::vector<TileSpec> out;
  for (const std::string& text : transposed_b && !tiles_transposed.empty() ? tiles_transposed : tiles) {
    if (const auto n = numbers(text, 4); !n.empty()) out.push_back({n[0], n[1], n[2], n[3]});
  }
  return out;
}

std::vector<ClusterSpec> GemmLibrarySpec::cluster_shapes() const {
  std::vector<ClusterSpec> out;
  for (const std::string& text : clusters) {
    if (const auto n = numbers(text, 2); !n.empty()) out.push_back({n[0], n[1]});
  }
  return out;
}

}  // namespace moire::libraries
