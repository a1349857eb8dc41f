// Compares the results of this compiler with those of the public compiler (msccl-tools), whose counts are in the
// manifest of the shared data. The programs are those that come with Moire, or are written below. Of steps, thread
// blocks, steps of the longest thread block, and connections, this compiler may need at most 10 % more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/mscclang/compile.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::mscclang {
namespace {

using ir::Collective;
using ir::Protocol;
using msccl::Algorithm;

std::filesystem::path shared_data() {
  const char* given = std::getenv("MOIRE_SHARED_DATA");
  return given != nullptr ? std::filesystem::path(given)
                          : std::filesystem::path(support::source_dir()) / "../shared/data";
}

Algorithm shipped(const std::string& name, const std::string& parameters, Shape shape) {
  config::Diagnostics diagnostics;
  const auto node = config::load_text(name, parameters, {}, diagnostics);
  const auto made = node ? find_program(name)->compile(*node, diagnostics, shape) : std::nullopt;
  if (!made) throw std::runtime_error(diagnostics.str());
  return *made;
}

// All-gather of four GPUs in two pairs: (0, 1) and (2, 3). Each part is sent to the other pair once and then forwarded
// inside that pair.
Algorithm pcie_all_gather() {
  Program p({.name = "pairs", .collective = Collective::all_gather, .ranks = 4, .instances = 2});
  for (const std::int32_t side : {0, 1}) {
    const std::int32_t other = 1 - side;
    const auto ranks = {side, side + 2};
    for (const std::int32_t r : ranks) p.chunk(r, input, 0).copy(r - side + other, output, r);
    for (const std::int32_t r : ranks) p.chunk(r, input, 0).copy((r + 2) % 4, output, r);
    for (const std::int32_t r : ranks) p.chunk(r, output, (r + 2) % 4).copy(r - side + other);
  }
  return compile(p);
}

Algorithm pcie_all_reduce() {
  Options options{.name = "pairs", .ranks = 4, .chunk_factor = 2, .instances = 2};
  options.blocks = Blocks::manual;
  options.replication = Replication::blocked;
  options.gather_waits = true;
  Program p(options);
  const Buffer other = p.scratch("other");
  for (const std::int32_t side : {0, 1}) {
    const auto ranks = {side, side + 2};
    const auto mate = [&](std::int32_t r) { return r + 1 - 2 * side; };
    for (const std::int32_t r : ranks) p.chunk(r, input, side).reduce(p.chunk(mate(r), input, side), {0, 0, 0});
    for (const std::int32_t r : ranks) p.chunk(r, input, side).copy((r + 2) % 4, other, side, {1, 1, 0});
    for (const std::int32_t r : ranks) p.chunk(r, input, side).reduce(p.chunk(r, other, side), {1, 1, 0});
    for (const std::int32_t r : ranks) p.chunk(r, input, side).copy(mate(r), {2, 2, 1});
  }
  return compile(p);
}

// All-reduce over two chains of four GPUs. In each chain, the sum goes from the first GPU to the last, and the result
// goes back.
Algorithm pcie_chains() {
  Options options{.name = "chains", .ranks = 4, .chunk_factor = 2, .instances = 4};
  options.blocks = Blocks::manual;
  options.replication = Replication::blocked;
  Program p(options);
  const std::vector<std::vector<std::int32_t>> chains = {{3, 2, 1, 0}, {2, 3, 0, 1}};
  for (std::int32_t c = 0; c < 2; ++c) {
    const auto& chain = chains[static_cast<std::size_t>(c)];
    for (std::size_t i = 0; i < 3; ++i) {
      p.chunk(chain[i + 1], input, c).reduce(p.chunk(chain[i], input, c), {2 * c, 2 * c, c});
    }
    for (std::size_t i = 3; i > 0; --i) p.chunk(chain[i], input, c).copy(chain[i - 1], {2 * c + 1, 2 * c + 1, c});
  }
  return compile(p);
}

Algorithm ring_out_of_place() {
  constexpr std::int32_t n = 8;
  Program p({.name = "ring", .ranks = n, .chunk_factor = n, .in_place = false});
  for (std::int32_t r = 0; r < n; ++r) {
    for (std::int32_t i = 0; i < n; ++i) p.chunk(r, input, i).copy(r, output, i);
  }
  for (std::int32_t i = 0; i < n; ++i) {
    Chunk c = p.chunk((i + 1) % n, output, i);
    for (std::int32_t hop = 2; hop <= n; ++hop) c = p.chunk((i + hop) % n, output, i).reduce(c);
    for (std::int32_t hop = 1; hop < n; ++hop) c = c.copy((i + hop) % n);
  }
  return compile(p);
}

using Make = std::function<Algorithm()>;

// Returns the functions that make the algorithms, by file name in the shared data.
std::map<std::string, Make> makers() {
  std::map<std::string, Make> all;
  const auto add = [&](const std::string& file, const std::string& name, const std::string& parameters, Shape shape) {
    all["generated/" + file + ".xml"] = [=] { return shipped(name, parameters, shape); };
  };
  add("allgather_allpairs_r8_i4_LL128", "all_gather_all_pairs", "{instances: 4}", {1, 8});
  add("allgather_bruck_r8_LL", "all_gather_bruck", "{}", {1, 8});
  add("allgather_recdbl_r64_i1_LL", "all_gather_recursive_doubling", "{}", {1, 64});
  add("allgather_recdbl_r8_i1_Simple", "all_gather_recursive_doubling", "{}", {1, 8});
  add("allgather_ring_r32_c1_i1_Simple", "all_gather_ring", "{}", {1, 32});
  add("allgather_ring_r8_c2_i2_LL128", "all_gather_ring", "{channels: 2, instances: 2}", {1, 8});
  add("allreduce_1step_r8_i1_LL", "all_reduce_one_step", "{}", {1, 8});
  add("allreduce_2d_4x2_LL128", "all_reduce_2d", "{}", {2, 4});
  add("allreduce_allpairs_2node_r16_i1_LL", "all_reduce_two_node_all_pairs", "{}", {2, 8});
  add("allreduce_allpairs_r8_i1_LL", "all_reduce_all_pairs", "{}", {1, 8});
  add("allreduce_allpairs_r8_i1_Simple", "all_reduce_all_pairs", "{}", {1, 8});
  add("allreduce_allpairs_r8_i2_Simple", "all_reduce_all_pairs", "{instances: 2}", {1, 8});
  add("allreduce_allpairs_v2_r8_i2_LL", "all_reduce_all_pairs_packed", "{instances: 2}", {1, 8});
  add("allreduce_binomial_r32_t2_LL", "all_reduce_binomial", "{}", {1, 32});
  add("allreduce_binomial_r8_t1_Simple", "all_reduce_binomial", "{trees: 1}", {1, 8});
  add("allreduce_hier_4x4_i1_LL128_auto", "all_reduce_hierarchical", "{}", {4, 4});
  add("allreduce_hier_8x2_i1_Simple_auto", "all_reduce_hierarchical", "{}", {2, 8});
  add("allreduce_rhd_r16_i2_Simple", "all_reduce_halving_doubling", "{instances: 2}", {1, 16});
  add("allreduce_rhd_r64_i1_LL128", "all_reduce_halving_doubling", "{}", {1, 64});
  add("allreduce_rhd_r8_i1_LL", "all_reduce_halving_doubling", "{}", {1, 8});
  add("allreduce_ring_r16_c2_i1_Simple", "all_reduce_ring", "{channels: 2}", {1, 16});
  add("allreduce_ring_r4_c1_i2_LL", "all_reduce_ring", "{instances: 2}", {1, 4});
  add("allreduce_ring_r64_c1_i1_LL128", "all_reduce_ring", "{}", {1, 64});
  add("allreduce_ring_r8_c1_i4_Simple", "all_reduce_ring", "{instances: 4}", {1, 8});
  add("allreduce_ring_r8_c4_i2_LL128", "all_reduce_ring", "{channels: 4, instances: 2}", {1, 8});
  add("alltoall_1step_r32_i1_LL", "all_to_all_one_step", "{}", {1, 32});
  add("alltoall_1step_r8_i2_Simple", "all_to_all_one_step", "{instances: 2}", {1, 8});
  add("alltoall_2step_2x8_Simple", "all_to_all_two_step", "{}", {2, 8});
  add("alltoall_2step_4x8_LL128", "all_to_all_two_step", "{}", {4, 8});
  add("alltoall_3step_3x4_i1", "all_to_all_three_step", "{}", {3, 4});
  add("alltoall_3step_4x8_i1", "all_to_all_three_step", "{}", {4, 8});
  add("alltonext_bwd_3node_i1", "all_to_next_backward", "{}", {3, 8});
  add("alltonext_fwd_2node_i1", "all_to_next_forward", "{}", {2, 8});
  add("broadcast_binomial_r16_LL128", "broadcast_binomial", "{chunks: 2}", {1, 16});
  add("broadcast_chain_r8_k4_i2_Simple", "broadcast_chain", "{instances: 2}", {1, 8});
  add("reduce_chain_r8_k4_Simple", "reduce_chain", "{}", {1, 8});
  add("reducescatter_allpairs_r8_LL", "reduce_scatter_all_pairs", "{}", {1, 8});
  add("reducescatter_halving_r8_LL", "reduce_scatter_halving", "{}", {1, 8});
  add("reducescatter_ring_r8_c2_Simple", "reduce_scatter_ring", "{channels: 2}", {1, 8});
  all["generated/allgather_pcie_r4_i2_LL.xml"] = pcie_all_gather;
  all["generated/allreduce_ncv4_r4_i2_LL.xml"] = pcie_all_reduce;
  all["generated/allreduce_ncv4_v2_r4_i4_LL128.xml"] = pcie_chains;
  all["generated/allreduce_ring_oop_r8_LL128.xml"] = ring_out_of_place;
  return all;
}

struct Counts {
  std::size_t steps = 0;
  std::size_t blocks = 0;  // number on the GPU that has most
  std::size_t longest = 0;
  std::size_t connections = 0;
  std::string text() const { return fmt::format("{:5} {:4} {:4} {:5}", steps, blocks, longest, connections); }
};

Counts count(const Algorithm& algorithm) {
  Counts made;
  for (const msccl::Gpu& gpu : algorithm.gpus) {
    made.blocks = std::max(made.blocks, gpu.blocks.size());
    for (const msccl::ThreadBlock& block : gpu.blocks) {
      made.steps += block.steps.size();
      made.longest = std::max(made.longest, block.steps.size());
      made.connections += block.send >= 0 ? 1 : 0;
    }
  }
  return made;
}

TEST(PublicCompiler, NeedsNoFewerStepsBlocksOrConnections) {
  const auto manifest = shared_data() / "msccl/manifest.json";
  std::ifstream in(manifest);
  if (!in) GTEST_SKIP() << "the shared data is not here (" << manifest << "); set MOIRE_SHARED_DATA";
  const auto all = makers();
  std::size_t compared = 0;
  for (const auto& record : nlohmann::json::parse(in)) {
    const auto file = record["file"].get<std::string>();
    if (!file.starts_with("generated/")) continue;
    const auto found = all.find(file);
    ASSERT_NE(found, all.end()) << "no program for " << file;
    Algorithm made = found->second();
    made.protocol = *msccl::protocol_of(record["proto"].get<std::string>());
    const Counts ours = count(made);
    const Counts theirs{record["steps"], record["max_tbs_per_gpu"], record["max_steps_per_tb"], record["connections"]};
    SCOPED_TRACE(fmt::format("{}: ours {} theirs {}", file, ours.text(), theirs.text()));
    if (std::getenv("MOIRE_SHOW_COUNTS") != nullptr) fmt::print("{:45} {} | {}\n", file, ours.text(), theirs.text());
    const auto at_most = [](std::size_t value, std::size_t reference) {
      EXPECT_LE(static_cast<double>(value), 1.1 * static_cast<double>(reference));
    };
    at_most(ours.steps, theirs.steps);
    at_most(ours.blocks, theirs.blocks);
    // If our algorithm has no more steps but fewer thread blocks, its blocks are longer, and their length is not
    // compared.
    if (ours.blocks >= theirs.blocks || ours.steps > theirs.steps) at_most(ours.longest, theirs.longest);
    at_most(ours.connections, theirs.connections);
    // Our algorithm must finish at every size at which the algorithm of the public compiler finishes.
    EXPECT_LE(msccl::check(made).deadlock.chunks_per_call_le,
              record["hangs_if_chunks_per_call_le"].get<std::uint32_t>());
    EXPECT_EQ(made.chunks, record["nchunksperloop"].get<int>());
    EXPECT_EQ(made.ranks(), record["ngpus"].get<int>());
    EXPECT_EQ(msccl::to_string(made.collective), record["coll"].get<std::string>());
    ++compared;
  }
  EXPECT_EQ(compared, all.size());
}

}  // namespace
}  // namespace moire::mscclang
