#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/workload/kernel/embedding_spec.hpp"
#include "models/workload/kernel/operators.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::kernel {
namespace {

using libraries::example_equipped;
using program::Phase;
using program::Rank;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case {
  std::int64_t gpus, nodes;
  link::Wiring wiring;
  std::int64_t tables, samples_per_rank, bags, slice;
  Order order;
};

std::string text(const Case& c) {
  return std::to_string(c.nodes) + " x " + std::to_string(c.gpus) + " GPUs, wiring " +
         std::to_string(static_cast<int>(c.wiring)) + ", " + std::to_string(c.tables) + " tables, " +
         std::to_string(c.samples_per_rank) + " samples, blocks of " + std::to_string(c.bags) + ", slices of " +
         std::to_string(c.slice) + ", order " + std::to_string(static_cast<int>(c.order));
}

// The cases cover full and short blocks, one and many tasks, fewer and more tasks than workgroups, and short last
// slices.
std::vector<Case> cases() {
  std::vector<Case> all;
  struct Place {
    std::int64_t gpus, nodes;
    link::Wiring wiring;
  };
  const std::vector<Place> places{
      {4, 1, link::Wiring::nvswitch}, {2, 1, link::Wiring::full_mesh}, {1, 2, link::Wiring::none},
      {1, 4, link::Wiring::none},     {2, 2, link::Wiring::nvswitch},  {4, 2, link::Wiring::full_mesh},
      {2, 4, link::Wiring::nvswitch}, {4, 1, link::Wiring::none},      {1, 1, link::Wiring::none}};
  struct Size {
    std::int64_t tables, samples, bags, slice;
  };
  const std::vector<Size> sizes{{1, 1, 8, 32},  {1, 8, 8, 8},   {3, 7, 8, 32},
                                {2, 65, 8, 16}, {5, 33, 4, 12}, {7, 96, 2, 64}};
  for (const Place& p : places) {
    for (const Size& s : sizes) {
      for (const Order order : {Order::slices_in_turn, Order::peer_by_peer, Order::by_destination, Order::by_table}) {
        all.push_back({p.gpus, p.nodes, p.wiring, s.tables, s.samples, s.bags, s.slice, order});
      }
    }
  }
  return all;
}

EmbeddingSpec spec_of(const Case& c, Schedule schedule) {
  EmbeddingSpec spec;
  spec.schedule = schedule;
  spec.tables_per_gpu = c.tables;
  spec.global_batch = c.samples_per_rank * c.gpus * c.nodes;
  spec.pooling = 20;
  spec.dim = 64;
  spec.rows_per_table = 100000;
  spec.bags_per_workgroup = c.bags;
  spec.slice_vectors = c.slice;
  spec.order = c.order;
  spec.in_flight = {8e3};
  spec.fence = Time::from_ns(700);
  libraries::LibrarySpec library;
  library.max_channels = 8;
  library.peers_at_once = 2;
  library.threads = 256;
  library.registers_per_thread = 32;
  library.node = {.channels_per_peer = 2, .slot = {16384}, .smallest_share = {4096}, .largest_share = {1e6}};
  library.slots = 4;
  library.bytes_in_flight = {16e3};
  library.setup = Time::from_us(2);
  library.step_overhead = Time::from_ns(500);
  spec.library = library;
  return spec;
}

libraries::EquippedSystem system_of(const Case& c) { return example_equipped(c.gpus, c.nodes, c.wiring); }

std::unique_ptr<program::Program> program_of(const libraries::EquippedSystem& system, const EmbeddingSpec& spec) {
  auto program = std::make_unique<program::Program>(static_cast<Rank>(system.ranks()));
  program->queues.resize(1);
  builder::Builder build{system, *program, program->queues[0]};
  append_embedding_all_to_all(build, spec);
  return program;
}

const program::Kernel& kernel_of(const program::Program& program, std::size_t i = 0) {
  return std::get<program::Kernel>(program.queues[0].operations[i]);
}

// Returns all steps of a workgroup.
std::vector<Phase> steps(const program::Kernel& kernel, Rank rank, std::int64_t workgroup) {
  std::vector<Phase> all;
  for (std::uint32_t step = 0;; ++step) {
    Phase phase;
    if (!kernel.body->phase(rank, workgroup, step, phase)) return all;
    all.push_back(phase);
  }
}

// True for the gather with which a task begins; the stores to a peer that follow it are posted.
bool gathers(const Phase& phase) { return phase.kind == Phase::Kind::work && !phase.posted; }

// --- Phases of the kernels ---

// A task is one table and one block of samples of one destination. If every destination gets the expected full and
// short blocks, it gets every sample of every table once.
TEST(FusedEmbedding, TasksCoverEveryTableSampleAndDestinationOnce) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    const auto program = program_of(system_of(c), spec_of(c, Schedule::fused));
    const program::Kernel& kernel = kernel_of(*program);
    std::multiset<double> blocks;  // of one destination
    for (std::int64_t table = 0; table < c.tables; ++table) {
      for (std::int64_t at = 0; at < c.samples_per_rank; at += c.bags) {
        blocks.insert(static_cast<double>(std::min(c.bags, c.samples_per_rank - at)));
      }
    }
    for (Rank rank = 0; rank < program->ranks(); ++rank) {
      std::map<Rank, std::multiset<double>> of_destination;
      for (std::int64_t wg = 0; wg < kernel.body->workgroups(rank); ++wg) {
        for (const Phase& phase : steps(kernel, rank, wg)) {
          if (gathers(phase)) of_destination[phase.peer].insert(phase.amount);
        }
      }
      EXPECT_EQ(of_destination.size(), program->ranks());
      for (const auto& [destination, made] : of_destination) EXPECT_EQ(made, blocks) << "for rank " << destination;
    }
  }
}

TEST(FusedEmbedding, ResultsGoTheRightWay) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    const libraries::EquippedSystem system = system_of(c);
    const auto program = program_of(system, spec_of(c, Schedule::fused));
    const builder::Builder build{system, *program, program->queues[0]};
    const program::Kernel& kernel = kernel_of(*program);
    for (Rank rank = 0; rank < program->ranks(); ++rank) {
      for (std::int64_t wg = 0; wg < kernel.body->workgroups(rank); ++wg) {
        const std::vector<Phase> all = steps(kernel, rank, wg);
        for (std::size_t i = 0; i < all.size(); ++i) {
          if (!gathers(all[i])) continue;
          const bool stores = all[i].peer != rank && build.reach().stores(rank, all[i].peer);
          EXPECT_EQ(kernel.shapes[all[i].shape].peer_write, 0);
          EXPECT_EQ(kernel.shapes[all[i].shape].write, stores ? 0 : 256);
          ASSERT_LT(i + 1, all.size());
          const Phase& next = all[i + 1];
          EXPECT_EQ(next.kind == Phase::Kind::work && next.posted, stores);
          if (!stores) continue;
          EXPECT_EQ(kernel.shapes[next.shape].peer_write, 256);
          EXPECT_EQ(kernel.shapes[next.shape].write + kernel.shapes[next.shape].read, 0);
          EXPECT_EQ(next.peer, all[i].peer);
          EXPECT_EQ(next.amount, all[i].amount);
        }
      }
    }
  }
}

// Returns the destination of every task, in the order in which the workgroups take the tasks.
std::vector<Rank> destinations(const program::Kernel& kernel, Rank rank) {
  const std::int64_t workgroups = kernel.body->workgroups(rank);
  std::map<std::int64_t, Rank> by_number;
  for (std::int64_t wg = 0; wg < workgroups; ++wg) {
    std::int64_t number = wg;
    for (const Phase& phase : steps(kernel, rank, wg)) {
      if (!gathers(phase)) continue;
      by_number[number] = phase.peer;
      number += workgroups;
    }
  }
  std::vector<Rank> order;
  for (const auto& [number, to] : by_number) order.push_back(to);
  return order;
}

// With slices_in_turn, a rank does the results for other ranks first, beginning with rank + 1, and its own tasks last.
// At any time, no peer has got more than one slice more than another.
TEST(FusedEmbedding, RemoteResultsComeFirstAndPeersTakeTurns) {
  for (const Case& c : cases()) {
    if (c.order != Order::slices_in_turn) continue;
    SCOPED_TRACE(text(c));
    const auto program = program_of(system_of(c), spec_of(c, Schedule::fused));
    const Rank ranks = program->ranks();
    for (Rank rank = 0; rank < ranks; ++rank) {
      const std::vector<Rank> order = destinations(kernel_of(*program), rank);
      const std::size_t remote = order.size() / ranks * (ranks - 1);
      EXPECT_EQ(std::count(order.begin() + static_cast<std::ptrdiff_t>(remote), order.end(), rank),
                order.size() - remote);
      EXPECT_EQ(order[0], (rank + 1) % ranks);
      std::vector<std::int64_t> done(ranks, 0);
      std::int64_t spread = 0;
      for (std::size_t i = 0; i < remote; ++i) {
        ++done[order[i]];
        std::int64_t most = 0, least = INT64_MAX;
        for (Rank peer = 0; peer < ranks; ++peer) {
          if (peer == rank) continue;
          most = std::max(most, done[peer]);
          least = std::min(least, done[peer]);
        }
        spread = std::max(spread, most - least);
      }
      EXPECT_LE(spread, c.slice / c.bags);
    }
  }
}

TEST(FusedEmbedding, NaturalOrderIsThatOfTheOutput) {
  for (const Case& c : cases()) {
    if (c.order != Order::by_destination) continue;
    SCOPED_TRACE(text(c));
    const auto program = program_of(system_of(c), spec_of(c, Schedule::fused));
    const std::vector<Rank> order = destinations(kernel_of(*program), 1);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
}

TEST(FusedEmbedding, PeerByPeerAndByTableAreAsTheirNamesSay) {
  for (const Case& c : cases()) {
    if (c.order != Order::peer_by_peer && c.order != Order::by_table) continue;
    SCOPED_TRACE(text(c));
    const auto program = program_of(system_of(c), spec_of(c, Schedule::fused));
    const Rank ranks = program->ranks();
    const std::vector<Rank> order = destinations(kernel_of(*program), 1);
    const std::size_t one = order.size() / ranks;  // tasks of one destination
    const std::size_t blocks = one / static_cast<std::size_t>(c.tables);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(order[i], c.order == Order::peer_by_peer ? (2 + i / one) % ranks : i / blocks % ranks) << i;
    }
  }
}

// A workgroup fences its stores and raises its flag at a peer of the node directly after its last task for the peer.
// Before its tasks it does one fence and raises the flags at the peers for which it has no task.
TEST(FusedEmbedding, ReadyFlagsFollowTheLastTaskForAPeer) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    const libraries::EquippedSystem system = system_of(c);
    const auto program = program_of(system, spec_of(c, Schedule::fused));
    const builder::Builder build{system, *program, program->queues[0]};
    const program::Kernel& kernel = kernel_of(*program);
    std::int64_t misplaced = 0;
    for (Rank rank = 0; rank < program->ranks(); ++rank) {
      std::set<Rank> peers;
      for (Rank peer = 0; peer < program->ranks(); ++peer) {
        if (peer != rank && build.reach().stores(rank, peer)) peers.insert(peer);
      }
      for (std::int64_t wg = 0; wg < kernel.body->workgroups(rank); ++wg) {
        std::map<Rank, std::size_t> tasks_left;
        const std::vector<Phase> all = steps(kernel, rank, wg);
        for (const Phase& phase : all) {
          if (gathers(phase)) ++tasks_left[phase.peer];
        }
        std::multiset<Rank> told;
        const Phase* before = nullptr;  // the last step that takes time
        Rank last_task = rank;
        bool begun = false;
        for (const Phase& phase : all) {
          if (gathers(phase)) {
            if (peers.contains(last_task) && tasks_left[last_task] == 0 && !told.contains(last_task)) ++misplaced;
            last_task = phase.peer;
            --tasks_left[last_task];
            begun = true;
          }
          if (phase.kind == Phase::Kind::fence) {
            EXPECT_EQ(phase.duration, Time::from_ns(700));
          }
          if (phase.kind == Phase::Kind::signal) {
            if (tasks_left[phase.peer] > 0) ++misplaced;
            if (begun && (phase.peer != last_task || before->kind != Phase::Kind::fence)) ++misplaced;
            if (!begun && before == nullptr) ++misplaced;  // no fence precedes the flag
            told.insert(phase.peer);
          }
          if (phase.kind != Phase::Kind::nothing) before = &phase;
        }
        EXPECT_EQ(told, (std::multiset<Rank>{peers.begin(), peers.end()}));
      }
    }
    EXPECT_EQ(misplaced, 0);
  }
}

// The workgroup that completes a slice puts it. The put has the bytes of the slice's tasks. The slices for a peer
// together have all bytes for the peer.
TEST(FusedEmbedding, SlicesSumUpToThePeersBytes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    const EmbeddingSpec spec = spec_of(c, Schedule::fused);
    const libraries::EquippedSystem system = system_of(c);
    const auto program = program_of(system, spec);
    const builder::Builder build{system, *program, program->queues[0]};
    const program::Kernel& kernel = kernel_of(*program);
    for (Rank rank = 0; rank < program->ranks(); ++rank) {
      struct Slice {
        std::int64_t raised = 0, target = 0;
        std::set<double> bytes;
        std::set<program::FlagRef> flags;
        double vectors = 0;
      };
      std::map<program::FlagRef, Slice> gated;
      std::map<Rank, double> sent;
      for (std::int64_t wg = 0; wg < kernel.body->workgroups(rank); ++wg) {
        double amount = 0;
        for (const Phase& phase : steps(kernel, rank, wg)) {
          if (gathers(phase)) amount = phase.amount;
          if (phase.kind != Phase::Kind::put) continue;
          EXPECT_FALSE(build.reach().stores(rank, phase.peer));
          EXPECT_LE(phase.bytes.value, static_cast<double>(c.slice) * 256);
          if (phase.gate == program::no_flag) {
            sent[phase.peer] += phase.bytes.value;
            EXPECT_EQ(phase.bytes.value, amount * 256);
            continue;
          }
          Slice& slice = gated[phase.gate];
          if (slice.raised++ == 0) sent[phase.peer] += phase.bytes.value;
          slice.target = phase.gate_target;
          slice.bytes.insert(phase.bytes.value);
          slice.flags.insert(phase.flag);
          slice.vectors += amount;
          EXPECT_EQ(program->place_of(phase.gate).rank, rank) << "the counter is in the sender's memory";
          EXPECT_EQ(program->place_of(phase.flag).rank, phase.peer);
        }
      }
      for (const auto& [gate, slice] : gated) {
        EXPECT_EQ(slice.raised, slice.target) << program->name_of_flag(gate);
        EXPECT_THAT(slice.bytes, ::testing::ElementsAre(slice.vectors * 256));
        EXPECT_EQ(slice.flags.size(), 1);
      }
      for (Rank peer = 0; peer < program->ranks(); ++peer) {
        const bool by_nic = peer != rank && !build.reach().stores(rank, peer);
        EXPECT_EQ(sent[peer], by_nic ? static_cast<double>(c.tables * c.samples_per_rank) * 256 : 0) << "to " << peer;
      }
    }
  }
}

// Every flag is raised exactly as often as a wait for it requires, and a rank waits for every remote source once.
TEST(FusedEmbedding, FlagsAreRaisedAsOftenAsAwaited) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    const auto program = program_of(system_of(c), spec_of(c, Schedule::fused));
    const program::Kernel& kernel = kernel_of(*program);
    const Rank ranks = program->ranks();
    std::map<program::FlagRef, std::int64_t> raised, awaited;
    std::set<program::FlagRef> gates;
    for (Rank rank = 0; rank < ranks; ++rank) {
      for (std::int64_t wg = 0; wg < kernel.body->workgroups(rank); ++wg) {
        bool polls = false;
        for (const Phase& phase : steps(kernel, rank, wg)) {
          if (phase.kind == Phase::Kind::signal || (phase.kind == Phase::Kind::put && phase.gate == program::no_flag))
            ++raised[phase.flag];
          if (phase.kind == Phase::Kind::put && phase.gate != program::no_flag && gates.insert(phase.gate).second)
            ++raised[phase.flag];
          if (phase.kind == Phase::Kind::wait) {
            EXPECT_EQ(program->place_of(phase.flag).rank, rank);
            EXPECT_EQ(awaited.count(phase.flag), 0);
            awaited[phase.flag] = phase.target;
          }
          EXPECT_FALSE(polls && phase.kind == Phase::Kind::work) << "polls before its work is done";
          polls = polls || phase.kind == Phase::Kind::wait;
        }
      }
    }
    EXPECT_EQ(awaited.size(), ranks * (ranks - 1));
    EXPECT_EQ(raised, awaited);
  }
}

TEST(BulkEmbedding, DoesTheWorkOfTheFusedKernel) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    EmbeddingSpec spec = spec_of(c, Schedule::fused);
    spec.fused_registers_per_thread = spec.registers_per_thread;  // both kernels have equally many workgroups at once
    const auto fused = program_of(system_of(c), spec);
    spec.schedule = Schedule::bulk_synchronous;
    const auto bulk = program_of(system_of(c), spec);
    const auto totals = [](const program::Program& program) {
      const program::Kernel& kernel = kernel_of(program);
      std::map<std::string, double> sums;
      for (std::int64_t wg = 0; wg < kernel.body->workgroups(0); ++wg) {
        for (const Phase& phase : steps(kernel, 0, wg)) {
          if (phase.kind != Phase::Kind::work) continue;
          const program::PhaseShape& shape = kernel.shapes[phase.shape];
          if (gathers(phase)) sums["vectors"] += phase.amount;
          sums["read"] += phase.amount * shape.read;
          sums["missed"] += phase.amount * shape.read * shape.read_miss * shape.read_overfetch;
          sums["flop"] += phase.amount * shape.flop;
          sums["written"] += phase.amount * (shape.write + shape.peer_write);
        }
      }
      return sums;
    };
    const std::map<std::string, double> expected = totals(*fused);
    for (const auto& [what, sum] : totals(*bulk)) {
      if (what == "missed" && c.order != Order::by_table) {
        EXPECT_LE(sum, expected.at(what) * (1 + 1e-12))
            << "a kernel that walks through the tables once finds more in the cache";
      } else {
        EXPECT_NEAR(sum, expected.at(what), 1e-12 * sum) << what;
      }
    }
    EXPECT_EQ(expected.at("vectors"), static_cast<double>(c.tables * c.samples_per_rank * c.gpus * c.nodes));
    EXPECT_EQ(expected.at("flop"), expected.at("vectors") * 20 * 64);
    EXPECT_EQ(bulk->queues[0].operations.size(), 2);
  }
}

TEST(BulkEmbedding, ItsPartsAloneAreItsParts) {
  const Case c{2, 1, link::Wiring::nvswitch, 3, 96, 8, 32, Order::slices_in_turn};
  EmbeddingSpec spec = spec_of(c, Schedule::bulk_synchronous);
  for (const collective::Engine engine : {collective::Engine::cu, collective::Engine::dma}) {
    spec.engine = engine;
    const auto names = [&](Schedule schedule) {
      spec.schedule = schedule;
      std::vector<std::string> all;
      const auto program = program_of(system_of(c), spec);
      for (const program::Operation& operation : program->queues[0].operations) {
        all.push_back(program::name_of(operation));
      }
      return all;
    };
    std::vector<std::string> parts = names(Schedule::unfused_kernel);
    EXPECT_EQ(parts.size(), 1);
    for (const std::string& name : names(Schedule::all_to_all)) parts.push_back(name);
    EXPECT_EQ(names(Schedule::bulk_synchronous), parts);
    EXPECT_EQ(parts.size(), engine == collective::Engine::cu ? 2 : 1 + c.gpus);
  }
}

// Four workgroups share a CU and its store window. What fits into a workgroup's share of it is stored while others
// load, and the workgroup waits for the rest. All results are stored, whatever the window.
TEST(Embedding, WorkgroupsWaitForStoresThatDoNotFitIntoTheWindow) {
  const Case c{2, 1, link::Wiring::nvswitch, 64, 256, 16, 32, Order::peer_by_peer};
  EmbeddingSpec spec = spec_of(c, Schedule::unfused_kernel);
  spec.registers_per_thread = 64;
  libraries::EquippedSystem system = system_of(c);
  const double vector = static_cast<double>(spec.dim) * builder::bytes_of(spec.dtype);
  for (const double share : {0.0, 0.25, 1.0, 2.0}) {
    system.node.gpu.port.store_window_per_cu = Bytes{4 * 16 * vector * share};
    const auto program = program_of(system, spec);
    const program::Kernel& kernel = kernel_of(*program);
    double beside = 0, waited = 0;
    for (const Phase& phase : steps(kernel, 0, 0)) {
      if (phase.kind != Phase::Kind::work) continue;
      const program::PhaseShape& shape = kernel.shapes[phase.shape];
      (shape.read > 0 ? beside : waited) += shape.write * phase.amount;
    }
    EXPECT_NEAR(beside, 16 * vector * std::min(1.0, share), 1e-6) << share;
    EXPECT_NEAR(beside + waited, 16 * vector, 1e-6) << share;
  }
}

// Start-up takes 5 us and the overhead of the task 0.4 us. Then two loads of row numbers take 400 ns each: 16 bags of
// 64 row numbers of 8 B are 8 KiB, twice the 256 threads x 16 B of one load. Later tasks have these times in their
// shape.
TEST(Embedding, FirstTasksWaitInStepThenGather) {
  Case c{2, 1, link::Wiring::nvswitch, 64, 256, 16, 32, Order::peer_by_peer};
  for (const Schedule schedule : {Schedule::fused, Schedule::unfused_kernel}) {
    EmbeddingSpec spec = spec_of(c, schedule);
    spec.pooling = 64;
    spec.start_up = Time::from_us(5);
    spec.task_overhead = Time::from_ns(400);
    const auto program = program_of(system_of(c), spec);
    const program::Kernel& kernel = kernel_of(*program);
    const std::vector<Phase> first = steps(kernel, 0, 0);
    ASSERT_GE(first.size(), 2);
    EXPECT_EQ(first[0].kind, Phase::Kind::delay);
    EXPECT_EQ(first[0].duration, Time::from_ns(5000 + 400 + 2 * 400));
    const auto waits = [&](const Phase& phase) {
      const program::PhaseShape& shape = kernel.shapes[phase.shape];
      return shape.dependent_loads > 0 && shape.pause.ps > 0;
    };
    EXPECT_FALSE(waits(first[1]));
    std::vector<Phase> later;  // phases of the same workgroup, or of a workgroup of a later wave
    if (schedule == Schedule::fused) {
      later.assign(first.begin() + 2, first.end());
    } else {
      later = steps(kernel, 0, kernel.body->workgroups(0) - 1);
    }
    std::erase_if(later, [](const Phase& phase) { return !gathers(phase); });
    ASSERT_FALSE(later.empty());
    for (const Phase& phase : later) {
      EXPECT_TRUE(waits(phase));
    }
  }
}

TEST(FusedEmbedding, WithoutAFenceOfItsOwnItIsThePorts) {
  const Case c{2, 1, link::Wiring::nvswitch, 1, 8, 8, 32, Order::peer_by_peer};
  libraries::EquippedSystem system = system_of(c);
  system.node.gpu.port.fence = Time::from_ns(640);
  EmbeddingSpec spec = spec_of(c, Schedule::fused);
  spec.fence.reset();
  const std::vector<Phase> all = steps(kernel_of(*program_of(system, spec)), 0, 0);
  const auto fence = std::find_if(all.begin(), all.end(), [](const Phase& p) { return p.kind == Phase::Kind::fence; });
  ASSERT_NE(fence, all.end());
  EXPECT_EQ(fence->duration, Time::from_ns(640));
}

TEST(GatherShape, CountsRowsIndicesAndWholeGrains) {
  EmbeddingSpec spec = spec_of({2, 1, link::Wiring::nvswitch, 2, 8, 8, 32, Order::slices_in_turn}, Schedule::fused);
  spec.dim = 40;  // 160 B of fp32: three grains of 64 B
  const machine::GpuSpec gpu = machine::example_gpu();
  program::PhaseShape shape = gather_shape(spec, gpu, "gather", {});
  EXPECT_DOUBLE_EQ(shape.read, 20 * (160 + 8));
  const double open = gpu.hbm.random_access_cost.value;  // bytes that opening a row costs, besides its grains
  EXPECT_DOUBLE_EQ(shape.read_overfetch, (192 + open) / 160);
  EXPECT_DOUBLE_EQ(shape.flop, 20 * 40);
  spec.dtype = builder::DataType::bf16;  // 80 B: two grains
  shape = gather_shape(spec, gpu, "gather", {});
  EXPECT_DOUBLE_EQ(shape.read, 20 * (80 + 8));
  EXPECT_DOUBLE_EQ(shape.read_overfetch, (128 + open) / 80);
  spec.rows_per_table = 1000;
  // 16 samples make 320 random reads of a table's 1,000 rows, which fit in the cache. The expected number of reads that
  // are the first of their row, and so miss, is 1,000 (1 - e^-0.32). Row numbers always miss.
  const double first = 1000 * (1 - std::exp(-0.32)) / 320;
  EXPECT_NEAR(gather_shape(spec, gpu, "gather", {}).read_miss, (80 * first + 8) / 88, 1e-6);
}

// Two workgroups of 8 bags work on one table of 16 samples at a time, four workgroups on two tables. The cache holds
// 1,000 rows: all of one table, or 500 rows of each of two tables.
TEST(GatherShape, TablesThatWorkgroupsAreAtTogetherShareTheCache) {
  EmbeddingSpec spec = spec_of({2, 1, link::Wiring::nvswitch, 2, 8, 8, 32, Order::slices_in_turn}, Schedule::fused);
  spec.rows_per_table = 1000;
  spec.pooling = 100'000;      // so many reads that neither first reads of rows matter nor the results' bytes
  spec.index_bytes = {0.001};  // and row numbers take no room in the cache
  machine::GpuSpec gpu = machine::example_gpu();
  gpu.l2.capacity = {1000 * 256.};
  const auto misses = [&](std::int64_t workgroups) {
    return gather_shape(spec, gpu, "gather", {.passes = 1, .workgroups = workgroups}).read_miss;
  };
  EXPECT_NEAR(misses(2), 0, 1e-3);
  EXPECT_NEAR(misses(4), 0.5, 1e-3);
  // Persistent workgroups of which two work on one table at first: after n of the two rounds, they are at 1 + n / 2
  // tables, and 1 - 1 / (1 + n / 2) of the reads miss.
  double expected = 0;
  for (double point = 0.5; point < 8; ++point) expected += (1 - 1 / (1 + 0.5 * 2 * point / 8)) / 8;
  const auto drifting = gather_shape(spec, gpu, "gather", {.passes = 1, .workgroups = 2, .progress_window = 0.5});
  EXPECT_NEAR(drifting.read_miss, expected, 1e-3);
}

// With 16 KiB in flight, each of 8 bags has 8 rows of 256 B in flight. So bags of 20 rows take three batches. Shorter
// bags request less at a time.
TEST(GatherShape, ABatchHasAsManyRowsOfEveryBagAsFit) {
  EmbeddingSpec spec = spec_of({2, 1, link::Wiring::nvswitch, 2, 8, 8, 32, Order::slices_in_turn}, Schedule::fused);
  const machine::GpuSpec gpu = machine::example_gpu();
  spec.in_flight = {8 * 8 * 256.};
  EXPECT_DOUBLE_EQ(gather_shape(spec, gpu, "gather", {}).in_flight.value, 8 * 256 * 20 / 3.);
  spec.pooling = 16;
  EXPECT_DOUBLE_EQ(gather_shape(spec, gpu, "gather", {}).in_flight.value, 8 * 256 * 8);
  spec.pooling = 1;
  EXPECT_DOUBLE_EQ(gather_shape(spec, gpu, "gather", {}).in_flight.value, 8 * 256);
  spec.in_flight = {1000};  // less than a row of every bag
  EXPECT_DOUBLE_EQ(gather_shape(spec, gpu, "gather", {}).in_flight.value, 1000);
}

// The kernel of validation/fused_embedding for rows of 512 B: tasks of 8 vectors, batches of 8 loads.
EmbeddingSpec compiled_spec() {
  EmbeddingSpec spec = spec_of({2, 1, link::Wiring::nvswitch, 2, 8, 8, 32, Order::slices_in_turn}, Schedule::fused);
  spec.dim = 128;
  spec.threads = 256;
  spec.pooling = 16;
  spec.in_flight = Bytes{32768};
  return spec;
}

// The numbers that a profiler counted on an H200 (validation/h200/instructions.csv).
TEST(GatherShape, CountsTheInstructionsOfATask) {
  machine::GpuSpec gpu = machine::example_gpu();
  gpu.compute.wavefront = 32;
  EmbeddingSpec spec = compiled_spec();
  EXPECT_EQ(gather_shape(spec, gpu, "gather", {}).instructions.all, 0);
  spec.task_instructions = 217;
  spec.load_instructions = 7;
  EXPECT_NEAR(gather_shape(spec, gpu, "gather", {}).instructions.all, 390.2, 0.02 * 390.2) << "8 wavefronts, 8 vectors";
  spec.bags_per_workgroup = 16;
  spec.dtype = builder::DataType::bf16;
  EXPECT_NEAR(gather_shape(spec, gpu, "gather", {}).instructions.all * 2, 585.5, 0.02 * 585.5);
  spec.dtype = builder::DataType::fp16;
  EXPECT_NEAR(gather_shape(spec, gpu, "gather", {}).instructions.all * 2, 713.5, 0.02 * 713.5);
  spec.pooling = 1;  // the other loads of the batch are masked
  EXPECT_NEAR(gather_shape(spec, gpu, "gather", {}).instructions.all * 2, 488.4, 0.06 * 488.4);
}

// One wavefront of the fused kernel finds the next task. Full batches of some compiled kernels have two parts.
TEST(GatherShape, KnowsTheCompiledKernel) {
  machine::GpuSpec gpu = machine::example_gpu();
  gpu.compute.wavefront = 32;
  gpu.compute.issue_interval = 4.5;
  EmbeddingSpec spec = compiled_spec();
  spec.pooling = 20;
  spec.task_instructions = 98;
  spec.load_instructions = 7;
  spec.integer_share = 0.4;
  spec.decode_instructions = 236;
  const program::Instructions fused = gather_shape(spec, gpu, "gather", {}).instructions;
  EXPECT_DOUBLE_EQ(fused.with_loads * 8, 8 * 3 * 8 * (7 + 4)) << "8 wavefronts, 3 batches of 8 loads";
  EXPECT_DOUBLE_EQ(fused.all * 8, 8 * (98 + 3 * 8 * (7 + 4)));
  EXPECT_DOUBLE_EQ(fused.integer, 0.4 * fused.all);
  EXPECT_DOUBLE_EQ(fused.lone * 8, 236);
  const program::Instructions first = of_first_task(spec, gpu, gather_shape(spec, gpu, "gather", {})).instructions;
  EXPECT_EQ(first.lone, 0);
  spec.schedule = Schedule::unfused_kernel;
  EXPECT_EQ(gather_shape(spec, gpu, "gather", {}).instructions.lone, 0);
  EXPECT_EQ(gather_shape(spec, gpu, "gather", {}).row_waits, 0);
  spec.split_batches = {builder::DataType::fp32};
  EXPECT_DOUBLE_EQ(gather_shape(spec, gpu, "gather", {}).row_waits * 8, 2) << "the last 4 of 20 rows are no full batch";
}

// 8 bags of 20 rows have 1,280 B of row numbers of 8 B, which take one load of 256 threads; bags of 500 rows take
// eight.
TEST(GatherShape, RowNumbersComeBeforeRows) {
  EmbeddingSpec spec = spec_of({2, 1, link::Wiring::nvswitch, 2, 8, 8, 32, Order::slices_in_turn}, Schedule::fused);
  const machine::GpuSpec gpu = machine::example_gpu();
  spec.task_overhead = Time::from_ns(400);
  const program::PhaseShape shape = gather_shape(spec, gpu, "gather", {});
  EXPECT_FALSE(shape.pipelined);
  EXPECT_TRUE(shape.random_rows);
  EXPECT_DOUBLE_EQ(shape.dependent_loads * 8, 1);
  EXPECT_EQ(shape.pause, Time::from_ns(50)) << "per vector: 400 ns over the 8 vectors of a task";
  spec.pooling = 500;
  EXPECT_DOUBLE_EQ(gather_shape(spec, gpu, "gather", {}).dependent_loads * 8, 8);
  spec.index_bytes = {4};
  EXPECT_DOUBLE_EQ(gather_shape(spec, gpu, "gather", {}).dependent_loads * 8, 4);
}

TEST(FusedEmbedding, FewerWorkgroupsFitWithMoreRegisters) {
  const Case c{2, 1, link::Wiring::nvswitch, 64, 256, 8, 32, Order::slices_in_turn};
  EmbeddingSpec spec = spec_of(c, Schedule::fused);  // 256 threads: a CU of 1,024 threads holds four workgroups
  spec.fused_registers_per_thread = 64;
  EXPECT_EQ(kernel_of(*program_of(system_of(c), spec)).body->workgroups(0), 32);
  spec.fused_registers_per_thread = 72;  // now a CU holds three
  EXPECT_EQ(kernel_of(*program_of(system_of(c), spec)).body->workgroups(0), 24);
}

// --- Times on a machine ---

// No schedule is faster than the GPU's memory, port or NIC allows, and none deadlocks.
TEST(Embedding, NoShapeDeadlocksOrBeatsTheHardware) {
  for (const Case& c : cases()) {
    for (const Schedule schedule : {Schedule::fused, Schedule::bulk_synchronous}) {
      SCOPED_TRACE(text(c) + (schedule == Schedule::fused ? " fused" : " bulk"));
      const libraries::EquippedSystem system = system_of(c);
      const auto program = program_of(system, spec_of(c, schedule));
      const replay::Result result = replay::run(system, *program);
      ASSERT_EQ(result.deadlock, "");
      const program::PhaseShape& shape = kernel_of(*program).shapes[0];
      const double vectors = static_cast<double>(c.tables * c.samples_per_rank);  // for one destination
      const auto ranks = static_cast<double>(c.gpus * c.nodes);
      const double wired = c.wiring == link::Wiring::none ? 0 : static_cast<double>(c.gpus - 1);
      const double port =
          c.wiring == link::Wiring::full_mesh ? 50e9 * static_cast<double>(6 / (c.gpus - 1)) * wired : 300e9;
      const double memory = vectors * ranks * shape.read * shape.read_miss * shape.read_overfetch / 1e12;
      const double stores = vectors * wired * 256 / port;
      const double puts = vectors * (ranks - 1 - wired) * 256 / 25e9;
      EXPECT_GE(result.end.seconds(), std::max({memory, stores, puts}));
      const double by_nic = vectors * (ranks - 1 - wired) * 256 * ranks;
      EXPECT_GE(result.traffic.put_bytes.value, by_nic);
      if (schedule == Schedule::bulk_synchronous) continue;  // its All-to-All also puts credits
      EXPECT_EQ(result.traffic.put_bytes.value, by_nic);
    }
  }
}

// With many waves of work, gather and communication of the fused kernel overlap. The kernel takes less than 1.1
// times the longer of the two.
TEST(Embedding, FusionHidesTheCommunication) {
  for (const auto& [gpus, nodes] : {std::pair{4, 1}, {1, 2}, {2, 2}}) {
    Case c{gpus, nodes, gpus > 1 ? link::Wiring::nvswitch : link::Wiring::none, 32, 256, 8, 32, Order::slices_in_turn};
    const libraries::EquippedSystem system = system_of(c);
    const replay::Result bulk = replay::run(system, *program_of(system, spec_of(c, Schedule::bulk_synchronous)));
    EmbeddingSpec persistent = spec_of(c, Schedule::fused);
    persistent.fused_registers_per_thread = 64;  // the occupancy of the unfused kernel
    const replay::Result fused = replay::run(system, *program_of(system, persistent));
    ASSERT_EQ(bulk.operations.size(), 2);
    const double compute = (bulk.operations[0].end - bulk.operations[0].begin).us();
    const double communication = (bulk.operations[1].end - bulk.operations[1].begin).us();
    EXPECT_LT(fused.end, bulk.end) << gpus << " x " << nodes;
    EXPECT_LT(fused.end.us(), 1.1 * std::max(compute, communication))
        << gpus << " x " << nodes << ": " << fused.end.us() << " of " << compute << " and " << communication;
  }
}

TEST(FusedEmbedding, LocalFirstEndsNoEarlier) {
  Case c{1, 2, link::Wiring::none, 32, 256, 8, 32, Order::slices_in_turn};
  const libraries::EquippedSystem system = system_of(c);
  const Time first = replay::run(system, *program_of(system, spec_of(c, Schedule::fused))).end;
  c.order = Order::by_destination;
  const replay::Result result = replay::run(system, *program_of(system, spec_of(c, Schedule::fused)));
  EXPECT_LT(first, result.end);
  EXPECT_NE(result.rank_end[0], result.rank_end[1])
      << "rank 1 sends first and rank 0 last: the skew in arXiv 2305.06942";
}

// --- Errors ---

TEST(CheckEmbedding, SaysWhatWouldBeRight) {
  const Case c{4, 1, link::Wiring::nvswitch, 4, 16, 8, 32, Order::slices_in_turn};
  const libraries::EquippedSystem system = system_of(c);
  const EmbeddingSpec good = spec_of(c, Schedule::bulk_synchronous);
  EXPECT_EQ(check_embedding(good, system), std::nullopt);
  EmbeddingSpec bad = good;
  bad.global_batch = 63;
  EXPECT_THAT(check_embedding(bad, system)->str(),
              HasSubstr("global_batch 63 cannot be divided evenly among 4 ranks; use 64"));
  bad = good;
  bad.slice_vectors = 12;
  EXPECT_THAT(check_embedding(bad, system)->str(), HasSubstr("12 is not a multiple of bags_per_workgroup 8; use 16"));
  bad = good;
  bad.schedule = Schedule::fused;
  bad.task_instructions = 10;
  bad.decode_instructions = 1000;
  EXPECT_THAT(check_embedding(bad, system)->str(), HasSubstr("decode_instructions 1000 are more than those of all"));
  bad = good;
  bad.library.reset();
  EXPECT_THAT(check_embedding(bad, system)->str(), HasSubstr("needs a collective library"));
  bad.schedule = Schedule::fused;
  EXPECT_EQ(check_embedding(bad, system), std::nullopt);
  bad = good;
  bad.rows_per_table = 100'000'000;
  EXPECT_THAT(check_embedding(bad, system)->str(),
              HasSubstr("tables of 102.4 GB per GPU do not fit into its memory of 10.0 GB"));
  EXPECT_THAT(check_embedding(good, example_equipped(1))->str(), HasSubstr("at least 2 ranks"));
  for (const Schedule schedule : {Schedule::fused, Schedule::unfused_kernel}) {
    EmbeddingSpec alone = good;
    alone.schedule = schedule;
    EXPECT_EQ(check_embedding(alone, example_equipped(1)), std::nullopt) << "a lone GPU keeps its results";
  }
}

TEST(Embedding, TakesItsKeysFromTheHeaderOfATrace) {
  const auto keys = [](const program::WgTraceHeader& header) {
    std::vector<std::string> out;
    for (const auto& [key, value] : embedding_operator().keys_of_trace(header)) out.push_back(key + "=" + value);
    return out;
  };
  program::WgTraceHeader header;
  header.threads_per_wg = 256;
  header.registers_per_thread = 60;
  header.bytes_in_flight_per_wg = 32768;
  EXPECT_THAT(keys(header), IsEmpty());
  header.provenance = {{"gpu", "NVIDIA H200"},
                       {"shape", "tables_per_gpu=16,dim=128,bags_per_task=16,dtype=fp32"},
                       {"rows_per_table", "1000000"},
                       {"order", "natural"}};
  EXPECT_THAT(keys(header), ElementsAre("tables_per_gpu=16", "dim=128", "bags_per_workgroup=16", "dtype=fp32",
                                        "rows_per_table=1000000", "order=by_table", "threads=256",
                                        "fused_registers_per_thread=60", "in_flight=32768 B"));
  header.kernel = "unfused_embedding";
  header.provenance = {{"shape", "dim=128"}, {"order", "remote_first"}, {"row_popularity", "zipf 1.05"}};
  EXPECT_THAT(keys(header),
              ElementsAre("dim=128", "order=peer_by_peer", "zipf_exponent=1.05", "schedule=unfused_kernel",
                          "threads=256", "registers_per_thread=60", "in_flight=32768 B"));
}

}  // namespace
}  // namespace moire::kernel
