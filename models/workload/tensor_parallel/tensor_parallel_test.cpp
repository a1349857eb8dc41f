#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "models/workload/operators/registry.hpp"
#include "models/workload/tensor_parallel/reduce_scatter.hpp"
#include "models/workload/tensor_parallel/tile_order.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::tensor_parallel {
namespace {

using libraries::EquippedSystem;
using libraries::example_equipped;
using program::Phase;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Built {
  std::unique_ptr<program::Program> program;
  std::string errors;
  std::vector<std::string> notes{};
};

Built build(const std::string& operation, const EquippedSystem& system, const std::string& queue_keys = "") {
  config::Diagnostics diagnostics;
  const std::string text = fmt::format("queues: {{main: {{{} operations: [{{{}}}]}}}}\n", queue_keys, operation);
  const auto root = config::load_text("t.yaml", text, {}, diagnostics);
  Built built;
  program::WgTraceFiles traces;
  if (root) {
    operators::BuiltProgram made = operators::build_program(*root, system, traces, diagnostics);
    built.program = std::move(made.program);
    built.notes = std::move(made.notes);
  }
  built.errors = diagnostics.str();
  return built;
}

// Totals over all workgroups of all ranks: bytes sent, numbers of raises of each flag, and counts that waits require.
struct Walk {
  std::map<std::pair<Rank, Rank>, double> bytes;  // (from, to): bytes stored, put or loaded
  std::map<program::FlagRef, std::int64_t> raised;
  std::map<program::FlagRef, std::int64_t> awaited;  // largest count that is waited for
};

Walk walk(const program::Program& program) {
  Walk all;
  const auto note = [&](const program::Kernel& kernel, Rank rank, const Phase& phase) {
    if (phase.kind == Phase::Kind::work) {
      const program::PhaseShape& shape = kernel.shapes[phase.shape];
      if (shape.peer_write > 0) all.bytes[{rank, phase.peer}] += phase.amount * shape.peer_write;
      if (shape.peer_read > 0) all.bytes[{phase.peer, rank}] += phase.amount * shape.peer_read;
    } else if (phase.kind == Phase::Kind::put) {
      all.bytes[{rank, phase.peer}] += phase.bytes.value;
      ++all.raised[phase.flag];
    } else if (phase.kind == Phase::Kind::signal) {
      ++all.raised[phase.flag];
    } else if (phase.kind == Phase::Kind::wait) {
      all.awaited[phase.flag] = std::max(all.awaited[phase.flag], phase.target);
    }
  };
  for (const program::Queue& queue : program.queues) {
    for (const program::Operation& operation : queue.operations) {
      for (Rank rank = 0; rank < program.ranks(); ++rank) {
        if (!program::runs_on(operation, rank)) continue;
        if (const auto* copy = std::get_if<program::Copy>(&operation)) {
          const program::Transfer transfer = copy->transfer(rank);
          all.bytes[{rank, transfer.peer}] += transfer.bytes.value;
          if (transfer.flag != program::no_flag) ++all.raised[transfer.flag];
        } else if (const auto* wait = std::get_if<program::Wait>(&operation)) {
          all.awaited[wait->flag(rank)] = std::max(all.awaited[wait->flag(rank)], wait->target);
        } else if (const auto* signal = std::get_if<program::Signal>(&operation)) {
          ++all.raised[signal->flag(rank)];
        } else if (const auto* kernel = std::get_if<program::Kernel>(&operation)) {
          for (std::int64_t w = 0; w < kernel->body->workgroups(rank); ++w) {
            for (std::uint32_t strand = 0; strand < kernel->body->strands(rank); ++strand) {
              Phase phase;
              for (std::uint32_t step = 0; kernel->body->strand_phase(rank, w, strand, step, phase);
                   step += 1 + phase.skipped, phase = {})
                note(*kernel, rank, phase);
            }
          }
        }
      }
    }
  }
  return all;
}

struct Case {
  std::int64_t m, n, k;
  Rank nodes, gpus;
  std::string text(const std::string& op, const std::string& keys) const {
    return fmt::format("{}: {{gemm: {{m: {}, n: {}, k: {}}}, schedule: fused, {}}}", op, m, n, k, keys);
  }
};

std::vector<Case> cases() {
  std::vector<Case> all = {{1, 64, 64, 1, 2}, {8192, 512, 512, 1, 4}, {100, 333, 77, 2, 2}};
  std::mt19937 random(11);
  for (int i = 0; i < 20; ++i) {
    all.push_back({1 + static_cast<std::int64_t>(random() % 2000), 16 + static_cast<std::int64_t>(random() % 2000),
                   16 + static_cast<std::int64_t>(random() % 2000), static_cast<Rank>(1 + random() % 3),
                   static_cast<Rank>(2 + random() % 4)});
  }
  return all;
}

// Every rank sends every tile once to the owner of its rows, and every wait ends.
TEST(GemmReduceScatter, EveryPartComesToItsOwnerOnce) {
  for (const Case& one : cases()) {
    for (const std::string mover : {"store", "add", "pull", "pull, fetch: by_tile"}) {
      for (const char* beside : {"true", "true, store_buffer: 1 KiB", "false"}) {
        const int relays = one.nodes > 1 ? static_cast<int>(one.m % 4) : 0;
        SCOPED_TRACE(fmt::format("{} x {} x {}, {} x {}, {}", one.m, one.n, one.k, one.nodes, one.gpus, mover));
        EquippedSystem system = example_equipped(one.gpus, one.nodes);
        const std::string text = one.text(
            "gemm_reduce_scatter", fmt::format("mover: {}, store_beside: {}, relay_cus: {}", mover, beside, relays));
        if (mover.starts_with("pull")) {
          EXPECT_THAT(build(text, system).errors, HasSubstr("keep the workgroups that compute tiles from the CUs"));
          system.software.gemm.schedule = libraries::Schedule::persistent;
        }
        const Built built = build(text, system);
        ASSERT_EQ(built.errors, "");
        const Walk all = walk(*built.program);
        const RowBlocks blocks(one.m, one.nodes * one.gpus);
        // A rank sends its parts of a block to the owner if the owner is in its node. Otherwise it sends them to the
        // GPU of its node that has the owner's index, which puts the sum to the owner.
        for (Rank from = 0; from < blocks.ranks(); ++from) {
          for (Rank to = 0; to < blocks.ranks(); ++to) {
            if (from == to) continue;
            const bool near = from / one.gpus == to / one.gpus;
            std::int64_t rows = !near && from % one.gpus == to % one.gpus ? blocks.rows(to) : 0;
            for (Rank owner = to % one.gpus; near && owner < blocks.ranks(); owner += one.gpus)
              rows += blocks.rows(owner);
            const auto at = all.bytes.find({from, to});
            EXPECT_DOUBLE_EQ(at == all.bytes.end() ? 0 : at->second, static_cast<double>(rows * one.n) * 2);
          }
        }
        for (const auto& [flag, target] : all.awaited) EXPECT_EQ(all.raised.at(flag), target);
        EXPECT_EQ(replay::run(system, *built.program).deadlock, "");
      }
    }
  }
}

// A rank fetches every part of its own tiles and of those that it relays when a GPU of its node has computed it, and
// completes a sum for another node with the last part.
TEST(GemmReduceScatter, PartsArePulledAsTheyAreComputed) {
  for (const BlockOrder order : {BlockOrder::own_first, BlockOrder::own_last}) {
    const TileOrder tiles({.m = 12, .tile_m = 1, .tile_rows = 12, .columns = 1, .ranks = 12, .neighbours = 4}, order);
    const ReduceScatterTerms terms{
        .launch = {.gemm = {}, .order = tiles}, .ranks = 12, .mover = Mover::pull, .order = order, .neighbours = 4};
    for (Rank rank = 0; rank < 12; ++rank) {
      std::map<Rank, int> parts;
      for (Rank turn = 0; turn < 12; ++turn) {
        const Fetched from = terms.fetched(rank, turn);
        EXPECT_EQ(from.source / 4, rank / 4);
        EXPECT_EQ(from.owner % 4, rank % 4);
        EXPECT_EQ(tiles.at(from.source, turn).row, from.owner);
        EXPECT_EQ(from.completes, ++parts[from.owner] == 4 && from.owner != rank);
      }
      EXPECT_THAT(parts, ElementsAre(Pair(rank % 4, 4), Pair(rank % 4 + 4, 4), Pair(rank % 4 + 8, 4)));
      for (const Rank turn : {12, 13}) {
        const Fetched sum = terms.fetched(rank, turn);
        EXPECT_EQ(sum.owner, rank);
        EXPECT_EQ(sum.source % 4, rank % 4);
        EXPECT_NE(sum.source, rank);
      }
    }
  }
}

const program::Kernel& kernel_of(const Built& built, std::size_t number) {
  return std::get<program::Kernel>(built.program->queues[0].operations[number]);
}

Built stored(const EquippedSystem& system, const std::string& keys) {
  return build("gemm_reduce_scatter: {schedule: fused, store_beside: false, " + keys + "}", system);
}

// With relay_cus, the first workgroups of the product's kernel put the sums of a node to other nodes, and the second
// kernel puts none.
TEST(GemmReduceScatter, RelaysAreWorkgroupsOfTheProduct) {
  const EquippedSystem system = example_equipped(2, 3);
  for (const int relays : {0, 3}) {
    const Built built = stored(system, fmt::format("gemm: {{m: 1536, n: 512, k: 512}}, relay_cus: {}", relays));
    for (const std::size_t number : {0, 1}) {
      const program::KernelBody& body = *kernel_of(built, number).body;
      double bytes = 0;
      for (std::int64_t workgroup = 0; workgroup < body.workgroups(1); ++workgroup) {
        Phase phase;
        for (std::uint32_t step = 0; body.phase(1, workgroup, step, phase); ++step, phase = {}) {
          if (phase.kind != Phase::Kind::put) continue;
          EXPECT_TRUE(number == 1 || workgroup < relays);
          bytes += phase.bytes.value;
        }
      }
      // Two other nodes have a GPU with the same number, whose rows are a sixth of the product.
      EXPECT_DOUBLE_EQ(bytes, (number == 0) == (relays > 0) ? 2 * 1536. / 6 * 512 * 2 : 0);
    }
  }
  EXPECT_THAT(
      build("gemm_reduce_scatter: {gemm: {m: 64, n: 64, k: 64}, schedule: fused, relay_cus: 4}", system, "cu_limit: 4,")
          .errors,
      HasSubstr("4 relaying workgroups leave none of the queue's 4 CUs to compute; use at most 3"));
}

// The second kernel loads the flag of a tile even if all parts have arrived. Its loop has eight parts, of which a rank
// needs as many as there are ranks: nine ranks need a second loop.
TEST(GemmReduceScatter, AddsUpPartsByInstructions) {
  const std::string product = "gemm: {m: 2304, n: 512, k: 2304}";
  for (const Rank ranks : {2, 8, 9}) {
    EquippedSystem system = example_equipped(ranks);
    const double parts_bytes = 2304. * 512 * 2;
    for (const double share : {0.9, 1.1}) {
      system.node.gpu.l2.capacity = {parts_bytes * share};
      system.node.gpu.l2.partitions = 1;
      const Built built = stored(system, product);
      const program::PhaseShape& sum = kernel_of(built, 1).shapes[1];
      EXPECT_DOUBLE_EQ(sum.read, ranks);
      EXPECT_DOUBLE_EQ(sum.instructions.all,
                       (ranks > 8 ? 2 : 1) * 227. / (static_cast<double>(system.node.gpu.compute.wavefront) * 16));
      // In the order in which parts were stored, a cache that is a little too small has lost all of them.
      EXPECT_EQ(sum.read_miss, share < 1 ? 1 : 0);
    }
    const Built built = stored(system, product);
    Phase phase;
    ASSERT_TRUE(kernel_of(built, 1).body->phase(0, 0, 1, phase));
    EXPECT_EQ(phase.kind, Phase::Kind::delay);
    EXPECT_EQ(phase.duration.ps, system.node.gpu.hbm.unloaded_latency.ps);
  }
}

TEST(GemmReduceScatter, BulkAdditionsHaveTheirOwnCosts) {
  EquippedSystem system = example_equipped(2);
  system.node.gpu.l2.bulk_add_cost = 7;
  system.node.gpu.port.payload_efficiency = 0.8;
  const std::string keys = "mover: add, gemm: {m: 512, n: 512, k: 512}";
  EXPECT_DOUBLE_EQ(kernel_of(stored(system, keys), 0).shapes[4].peer_write_cost, 1);
  system.node.gpu.port.add_efficiency = 0.5;
  const Built built = stored(system, keys);
  const program::Kernel& kernel = kernel_of(built, 0);
  const program::PhaseShape& add = kernel.shapes[3];
  EXPECT_DOUBLE_EQ(add.read + add.write + add.l2_extra, 7);
  EXPECT_DOUBLE_EQ(kernel.shapes[4].peer_write_cost, 1.6);
}

// Slow links bring workgroups apart, so that they load more from memory, whatever the mover that stores. Tiles that are
// pulled leave nobody waiting.
TEST(GemmReduceScatter, StoresToPeersBringWorkgroupsApart) {
  EquippedSystem system = example_equipped(4);
  system.software.gemm.stride_drift_most = 0.25;
  system.software.gemm.stagger_per_wave = 0.8;
  system.software.gemm.stagger_most = 5;
  system.node.gpu.port.link_bandwidth = system.node.gpu.port.link_bandwidth * 1e-3;
  system.node.gpu.l2.capacity = {1e6};
  const auto missed = [&](const char* mover, double reload) {
    system.software.gemm.stagger_reload = reload;
    return kernel_of(stored(system, fmt::format("mover: {}, gemm: {{m: 4096, n: 4096, k: 16384, schedule: "
                                                "persistent_stride}}",
                                                mover)),
                     0)
        .shapes[0]
        .read_miss;
  };
  for (const char* mover : {"store", "add"}) EXPECT_GT(missed(mover, 0.1), missed(mover, 0));
  EXPECT_DOUBLE_EQ(missed("pull", 0.1), missed("pull", 0));
  const double slow = missed("store", 0.01);
  system.node.gpu.port.link_bandwidth = system.node.gpu.port.link_bandwidth * 1e6;
  EXPECT_LT(missed("store", 0.01), slow);
}

// Returns the work of main loops of rank 0, as multiples of an equal share of a product of 32 x 32 tiles, each of 16
// steps along k. Of these, three are loaded before the loop begins.
std::vector<double> main_loops(double spread, bool beside) {
  EquippedSystem system = example_equipped(2);
  system.software.gemm.tile_spread = spread;
  const Built built = build(fmt::format("gemm_reduce_scatter: {{schedule: fused, store_beside: {}, gemm: {{m: 4096, n: "
                                        "4096, k: 1024, schedule: persistent_stride, tile: {{m: 128, n: 128, k: 32, "
                                        "stages: 3}}}}}}",
                                        beside),
                            system);
  EXPECT_EQ(built.errors, "");
  const program::KernelBody& body = *kernel_of(built, 0).body;
  std::vector<double> all;
  for (std::int64_t workgroup = 0; workgroup < body.workgroups(0); ++workgroup) {
    Phase phase;
    for (std::uint32_t step = 0; body.phase(0, workgroup, step, phase); ++step, phase = {}) {
      if (phase.kind == Phase::Kind::work && phase.shape == 0 && phase.amount > 0)
        all.push_back(phase.amount * 32 * 32);
    }
  }
  return all;
}

TEST(GemmReduceScatter, MainLoopsDifferButDoAllOfTheProduct) {
  const std::vector<double> all = main_loops(0.01, false);
  EXPECT_EQ(all.size(), 32 * 32);
  double sum = 0, squares = 0;
  for (const double loop : all) {
    sum += loop;
    squares += (loop - 1) * (loop - 1);
  }
  EXPECT_NEAR(sum, 32 * 32, 1e-9);
  EXPECT_NEAR(std::sqrt(squares / (32 * 32)), 0.01, 5e-4);
}

// Half of the tiles leave the rank. If a workgroup stores such a tile while it computes the next one, that loop has two
// parts. (The 8 workgroups begin with tiles that leave, and end with tiles that stay.)
TEST(GemmReduceScatter, AMainLoopWaitsForTheStoreBesideIt) {
  std::map<std::int64_t, int> loops_of_steps;
  for (const double part : main_loops(0, true)) ++loops_of_steps[std::llround(part * 16)];
  EXPECT_THAT(loops_of_steps, ElementsAre(Pair(3, 512), Pair(13, 512), Pair(16, 512)));
}

// Every rank gets the rows of every other rank once, and every wait ends.
TEST(AllGatherGemm, EveryRowComesOnce) {
  for (const Case& one : cases()) {
    for (const char* keys : {"chunks: 1", "chunks: 3", "mover: push, communication_cus: 3, chunks: 2",
                             "mover: pull, communication_cus: 2, chunks: 5", "order: in_order, chunks: 4"}) {
      if (one.nodes > 1 && std::string(keys).find("pull") != std::string::npos) continue;
      SCOPED_TRACE(fmt::format("{} x {} x {}, {} x {}, {}", one.m, one.n, one.k, one.nodes, one.gpus, keys));
      const EquippedSystem system = example_equipped(one.gpus, one.nodes);
      const Built built = build(one.text("all_gather_gemm", keys), system);
      ASSERT_EQ(built.errors, "");
      const Walk all = walk(*built.program);
      const RowBlocks blocks(one.m, one.nodes * one.gpus);
      double sent = 0;
      for (const auto& [pair, bytes] : all.bytes) sent += bytes;
      // Each rank receives all rows but its own.
      EXPECT_NEAR(sent, static_cast<double>(one.m * (blocks.ranks() - 1) * one.k) * 2, 1e-6 * sent);
      for (const auto& [flag, target] : all.awaited) EXPECT_EQ(all.raised.at(flag), target);
      EXPECT_EQ(replay::run(system, *built.program).deadlock, "");
    }
  }
}

// A tile whose rows come late begins with its first loads, so it ends so much later. If its rows are there before the
// workgroup has started, the order of the two parts of the start does not matter.
TEST(AllGatherGemm, LoadsBeginBehindTheWait) {
  EquippedSystem system = example_equipped(2);
  system.software.gemm.start_up = Time::from_seconds(8e-6);
  const auto end = [&](const std::string& keys, double behind_wait, double of_mover) {
    system.software.gemm.start_up_behind_wait = Time::from_seconds(behind_wait * 1e-6);
    system.software.gemm.start_up_of_mover = Time::from_seconds(of_mover * 1e-6);
    const Built built = build("all_gather_gemm: {schedule: fused, " + keys + "}", system);
    EXPECT_EQ(built.errors, "");
    return replay::run(system, *built.program).rank_end[0].seconds() * 1e6;
  };
  const std::string copied = "gemm: {m: 256, n: 256, k: 65536}",
                    pushed = copied + ", mover: push, communication_cus: 3";
  EXPECT_NEAR(end(copied, 3, 0) - end(copied, 0, 0), 3, 0.01);
  EXPECT_NEAR(end(pushed, 3, 0) - end(pushed, 0, 0), 3, 0.01);
  EXPECT_NEAR(end(pushed, 3, 2) - end(pushed, 3, 0), 2, 0.01);
  EXPECT_NEAR(end(copied, 3, 2) - end(copied, 3, 0), 0, 1e-6);
  const std::string early = "gemm: {m: 256, n: 8192, k: 64}, mover: push, communication_cus: 3";
  EXPECT_NEAR(end(early, 0.5, 0) - end(early, 0, 0), 0, 0.01);
}

// Workgroups that others wait for are placed first, so the kernel also ends on a queue with few CUs.
TEST(AllGatherGemm, FewCusSuffice) {
  for (const char* mover : {"copy_engine", "push", "pull"}) {
    for (const Rank nodes : {1, 2, 3}) {
      if (nodes > 1 && std::string(mover) == "pull") continue;
      const EquippedSystem system = example_equipped(2, nodes);
      const std::string keys = fmt::format("mover: {}, communication_cus: 3, chunks: 4", mover);
      const Case one{512, 256, 256, nodes, 2};
      const Built built = build(one.text("all_gather_gemm", keys), system, "cu_limit: 4,");
      ASSERT_EQ(built.errors, "");
      EXPECT_EQ(replay::run(system, *built.program).deadlock, "") << mover << " on " << nodes << " nodes";
    }
  }
}

TEST(TensorParallel, WhatDoesNotFitIsRefused) {
  const auto refused = [](const std::string& operation, const EquippedSystem& system) {
    return build(operation, system).errors;
  };
  const EquippedSystem two = example_equipped(2);
  EXPECT_THAT(refused("gemm_reduce_scatter: {gemm: {m: 64, n: 64, k: 1}}", two), HasSubstr("use at least 2"));
  EXPECT_THAT(refused("all_gather_gemm: {gemm: {m: 64, n: 64, k: 64}}", example_equipped(1)),
              HasSubstr("needs at least 2 ranks"));
  EXPECT_THAT(refused("all_gather_gemm: {gemm: {m: 64, n: 64, k: 64}, schedule: split}", example_equipped(2, 2)),
              HasSubstr("only copy inside a node"));
  EXPECT_THAT(refused("gemm_reduce_scatter: {gemm: {m: 64, n: 64, k: 64, split_k: 2}, schedule: fused}", two),
              HasSubstr("remove split_k"));
  EXPECT_THAT(refused("all_gather_gemm: {gemm: {m: 1000000, n: 1000000, k: 1000000}, schedule: fused}", two),
              HasSubstr("do not fit into the memory"));
}

TEST(TensorParallel, MoversLeaveACuOfTheQueue) {
  const std::string gather =
      "all_gather_gemm: {gemm: {m: 64, n: 64, k: 64}, schedule: fused, mover: push, "
      "communication_cus: 3}";
  EXPECT_EQ(build(gather, example_equipped(2)).errors, "");
  EXPECT_EQ(build(gather, example_equipped(2), "cu_limit: 4,").errors, "");
  EXPECT_THAT(build(gather, example_equipped(2), "cu_limit: 3,").errors,
              HasSubstr("3 communicating workgroups leave none of the queue's 3 CUs to compute; use at most 2"));
}

// Between nodes, a workgroup that adds waits for sums that other workgroups of the same kernel send. So all of them
// must be on CUs at once.
TEST(TensorParallel, AllWorkgroupsThatAddArePlacedAtOnce) {
  const auto sums = [](std::int64_t workgroups, Rank nodes) {
    return build(fmt::format("gemm_reduce_scatter: {{gemm: {{m: 512, n: 512, k: 64}}, schedule: fused, "
                             "sum_workgroups: {}}}",
                             workgroups),
                 example_equipped(2, nodes))
        .errors;
  };
  EXPECT_EQ(sums(1000, 1), "");
  EXPECT_EQ(sums(8, 2), "");
  EXPECT_THAT(sums(1000, 2), HasSubstr("sum_workgroups is 1000, but between nodes all of them must be"));
}

TEST(TensorParallel, KeysThatTheScheduleDoesNotUseAreNoted) {
  const auto notes = [](const std::string& keys) {
    return build("all_gather_gemm: {gemm: {m: 64, n: 64, k: 64}, " + keys + "}", example_equipped(2)).notes;
  };
  EXPECT_THAT(notes("schedule: split, mover: push"),
              ElementsAre("program.queues.main.0.all_gather_gemm.mover: no effect, because schedule is split"));
  EXPECT_THAT(notes("schedule: fused, channels: 4"),
              ElementsAre("program.queues.main.0.all_gather_gemm.channels: no effect, because schedule is fused"));
  EXPECT_THAT(notes("schedule: fused, mover: push, communication_cus: 3, chunks: 2"), IsEmpty());
  EXPECT_THAT(
      build("gemm_reduce_scatter: {gemm: {m: 64, n: 64, k: 64}, schedule: fused, relay_cus: 1}", example_equipped(2))
          .notes,
      ElementsAre("program.queues.main.0.gemm_reduce_scatter.relay_cus: no effect, because all ranks are in one "
                  "node"));
  EquippedSystem two_nodes = example_equipped(2, 2);
  two_nodes.software.gemm.schedule = libraries::Schedule::persistent;
  EXPECT_THAT(
      build("gemm_reduce_scatter: {gemm: {m: 64, n: 64, k: 64}, schedule: fused, mover: pull, relay_cus: 1}", two_nodes)
          .notes,
      ElementsAre(HasSubstr("relay_cus: no effect, because the workgroups that pull also relay")));
  EXPECT_THAT(notes("schedule: gemm, mover: push"), IsEmpty()) << "gemm runs a part of another schedule";
}

TEST(TensorParallel, SplitRunsInARing) {
  for (const char* op : {"gemm_reduce_scatter", "all_gather_gemm"}) {
    for (const Rank gpus : {2, 3, 4}) {
      const EquippedSystem system = example_equipped(gpus);
      const Built built = build(fmt::format("{}: {{gemm: {{m: 999, n: 512, k: 512}}, schedule: split}}", op), system);
      ASSERT_EQ(built.errors, "");
      const Walk all = walk(*built.program);
      for (const auto& [flag, target] : all.awaited) EXPECT_EQ(all.raised.at(flag), target);
      for (const auto& [pair, bytes] : all.bytes) EXPECT_EQ(pair.second, (pair.first + 1) % gpus);
      EXPECT_EQ(replay::run(system, *built.program).deadlock, "");
    }
  }
}

// Every rank sends one block of rows to every other rank. In an all-gather it also copies its own rows twice: to the
// memory that its peers read, and to the gathered matrix.
TEST(TensorParallel, PipelinedSendsEveryPairOneBlock) {
  for (const bool gathers : {false, true}) {
    for (const Rank gpus : {2, 3, 4, 5}) {
      const EquippedSystem system = example_equipped(gpus);
      const Built built = build(fmt::format("{}: {{gemm: {{m: 999, n: 512, k: 640}}, schedule: pipelined}}",
                                            gathers ? "all_gather_gemm" : "gemm_reduce_scatter"),
                                system);
      ASSERT_EQ(built.errors, "");
      const Walk all = walk(*built.program);
      for (const auto& [flag, target] : all.awaited) EXPECT_EQ(all.raised.at(flag), target);
      const double block = (999 + gpus - 1) / gpus * (gathers ? 640. : 512.) * 2;
      for (Rank from = 0; from < gpus; ++from) {
        for (Rank to = 0; to < gpus; ++to) {
          const auto sent = all.bytes.find({from, to});
          EXPECT_EQ(sent == all.bytes.end() ? 0 : sent->second, from != to ? block : gathers ? 2 * block : 0);
        }
      }
      EXPECT_EQ(replay::run(system, *built.program).deadlock, "");
    }
  }
}

// A barrier ends on no rank before the last rank has begun it: its kernel raises a flag at every other rank.
TEST(TensorParallel, PipelinedBarriersMeetAllRanks) {
  const EquippedSystem system = example_equipped(4);
  const Built built = build("all_gather_gemm: {gemm: {m: 64, n: 64, k: 64}, schedule: pipelined}", system);
  ASSERT_EQ(built.errors, "");
  const auto& kernel = std::get<program::Kernel>(built.program->queues.front().operations.front());
  EXPECT_EQ(kernel.name, "barrier");
  for (Rank rank = 0; rank < 4; ++rank) {
    std::set<Rank> told, heard;
    Phase phase;
    for (std::uint32_t step = 0; kernel.body->phase(rank, 0, step, phase); ++step, phase = {}) {
      if (phase.kind == Phase::Kind::signal) told.insert(built.program->place_of(phase.flag).rank);
      if (phase.kind == Phase::Kind::wait) heard.insert(built.program->place_of(phase.flag).index);
    }
    std::set<Rank> others{0, 1, 2, 3};
    others.erase(rank);
    EXPECT_EQ(told, others);
    EXPECT_EQ(heard, others);
  }
}

}  // namespace
}  // namespace moire::tensor_parallel
