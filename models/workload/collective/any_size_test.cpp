// Collectives must run with any number of bytes on any number of ranks. Most tests add up the steps of a library's
// kernels, which needs no simulation. The last test simulates a few collectives.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/timing.hpp"
#include "sim/config/config.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::collective {
namespace {

using libraries::EquippedSystem;
using program::Phase;
using program::Rank;

EquippedSystem read(const std::string& name) {
  config::Diagnostics diagnostics;
  const auto root = config::load(support::source_dir() + "/configs/systems/" + name, {}, diagnostics);
  std::optional<EquippedSystem> system;
  if (root) system = libraries::read_system(*root, diagnostics);
  if (!system) throw std::runtime_error(diagnostics.str());
  return *system;
}

EquippedSystem machine_of(std::int64_t nodes, std::int64_t gpus) {
  static const EquippedSystem rail = read("128x8xh100_rail.yaml");
  EquippedSystem system = rail;
  system.nodes = nodes;
  system.node.gpus = system.node.nics = gpus;
  return system;
}

struct Asked {
  std::int64_t nodes, gpus;
  Collective collective;
};

std::string words(const Asked& asked) {
  const Method& method = asked.collective.method;
  return std::string(name_of(asked.collective.kind)) + " of " + std::to_string(asked.collective.bytes.value) + " on " +
         std::to_string(asked.nodes) + " x " + std::to_string(asked.gpus) + ", " + name_of(method.algorithm) + ", " +
         name_of(method.protocol) + (method.engine == Engine::nic ? ", nic" : "");
}

const std::vector<double>& sizes() {
  static const std::vector<double> all = {1, 2, 7, 16, 4097, 65536, 300007};
  return all;
}

std::vector<Asked> all_asked() {
  std::vector<Asked> all;
  std::size_t turn = 0;  // each case gets other sizes, because all combinations would take too long
  for (const auto& [nodes, gpus] : {std::pair{2, 8}, {4, 8}, {2, 1}, {3, 1}, {5, 2}, {2, 4}, {7, 3}, {1, 8}, {16, 2}}) {
    for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::broadcast, Kind::all_to_all,
                            Kind::send_recv}) {
      const bool message = kind == Kind::all_to_all || kind == Kind::send_recv;
      const bool reduces = kind == Kind::all_reduce || kind == Kind::reduce_scatter;
      std::vector<Method> methods;
      if (!reduces) methods.push_back({.engine = Engine::nic});
      for (const ChannelAlgorithm* algorithm : algorithms) {
        if (message || !algorithm->can(kind, machine_of(nodes, gpus))) continue;
        const auto number = static_cast<Algorithm>(
            1 + (std::find(algorithms.begin(), algorithms.end(), algorithm) - algorithms.begin()));
        for (const Protocol protocol : {Protocol::simple, Protocol::ll, Protocol::ll128})
          if (algorithm->program != nullptr || protocol == Protocol::simple)
            methods.push_back({.algorithm = number, .protocol = protocol});
      }
      if (message) methods.emplace_back();
      for (const Method& method : methods) {
        for (std::size_t some = 0; some < 3; ++some, turn += 3) {
          const Bytes bytes{sizes()[turn % sizes().size()]};
          if (nodes * gpus > 16 && bytes.value > 1e5) continue;
          all.push_back({nodes, gpus, {.kind = kind, .bytes = bytes, .method = method}});
        }
      }
    }
  }
  return all;
}

struct Counted {
  std::map<program::FlagRef, std::int64_t> raised;
  std::map<program::FlagRef, std::int64_t> awaited;
  std::size_t puts = 0;
};

Counted count(const EquippedSystem& system, const Collective& collective) {
  program::Program program(static_cast<Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  EXPECT_EQ(check(collective, system), std::nullopt);
  append(build, collective, "collective");
  const auto& body = *std::get<program::Kernel>(program.queues[0].operations.at(0)).body;
  Counted counted;
  for (Rank rank = 0; rank < program.ranks(); ++rank) {
    for (std::int64_t workgroup = 0; workgroup < body.workgroups(rank); ++workgroup) {
      for (std::uint32_t strand = 0; strand < body.strands(rank); ++strand) {
        Phase phase;
        for (std::uint32_t step = 0; body.strand_phase(rank, workgroup, strand, step, phase);
             step += 1 + phase.skipped, phase = {}) {
          if (phase.kind == Phase::Kind::work) {
            EXPECT_GT(phase.amount, 0);
          }
          if (phase.kind == Phase::Kind::put) {
            ++counted.puts;
            EXPECT_GE(phase.bytes.value, 1);
            EXPECT_EQ(phase.bytes.value, std::floor(phase.bytes.value));
          }
          if (phase.kind == Phase::Kind::put || phase.kind == Phase::Kind::signal) ++counted.raised[phase.flag];
          if (phase.kind == Phase::Kind::wait)
            counted.awaited[phase.flag] = std::max(counted.awaited[phase.flag], phase.target);
        }
      }
    }
  }
  return counted;
}

TEST(AnySize, WhatIsAwaitedIsSentInWholeBytes) {
  std::size_t cases = 0;
  for (const Asked& asked : all_asked()) {
    SCOPED_TRACE(words(asked));
    const Counted counted = count(machine_of(asked.nodes, asked.gpus), asked.collective);
    for (const auto& [flag, target] : counted.awaited) EXPECT_GE(counted.raised.at(flag), target) << flag;
    if (asked.nodes > 1) {
      EXPECT_GT(counted.puts, 0);
    }
    ++cases;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(cases, 400);
}

// Every byte of the collective is sent once to each rank that must get it, for all numbers of bytes and ranks.
TEST(AnySize, EveryByteIsSentAsOftenAsItHasTo) {
  const EquippedSystem rail = read("128x8xh100_rail.yaml");
  for (const auto& [nodes, gpus] : {std::pair{1, 2}, {1, 3}, {2, 4}, {3, 2}, {7, 1}, {13, 1}}) {
    EquippedSystem system = rail;
    system.nodes = nodes;
    system.node.gpus = system.node.nics = gpus;
    const double ranks = static_cast<double>(system.ranks());
    for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::broadcast}) {
      for (const double bytes : sizes()) {
        const double passes = (ranks - 1) * bytes;
        const double sent = kind == Kind::all_gather ? ranks * passes : kind == Kind::all_reduce ? 2 * passes : passes;
        for (const std::uint32_t channels : {1U, 5U}) {
          const Work work{system, kind, bytes, channels, 32768, 4096, true, 1};
          for (const ChannelAlgorithm* algorithm : algorithms) {
            // A recursive algorithm sends more, because it pads the buffer to equal parts.
            if (algorithm == &recursive_algorithm || !algorithm->program || !algorithm->can(kind, system)) continue;
            const auto program = algorithm->program(work);
            double out = 0, in = 0;
            for (Rank rank = 0; rank < static_cast<Rank>(system.ranks()); ++rank) {
              for (std::uint32_t channel = 0; channel < program->channels(); ++channel) {
                for (std::uint32_t strand = 0; strand < program->strands(); ++strand) {
                  Step step;
                  for (std::uint32_t n = 0; program->step(rank, channel, strand, n, step); ++n, step = {}) {
                    if (effect(step.op).sends) out += step.bytes;
                    if (effect(step.op).receives) in += step.bytes;
                  }
                }
              }
            }
            EXPECT_EQ(out, sent) << algorithm->name << " " << name_of(kind) << " of " << bytes << " on " << nodes
                                 << " x " << gpus;
            EXPECT_EQ(in, sent);
          }
        }
      }
    }
  }
}

// In earlier versions, each of these cases stopped at a put of zero bytes.
TEST(AnySize, RunsToItsEnd) {
  const auto runs = [](const char* name, std::int64_t nodes, Kind kind, double bytes, Method method) {
    EquippedSystem system = read(name);
    system.nodes = nodes;
    EXPECT_GT(time_of(system, {.kind = kind, .bytes = Bytes{bytes}, .method = std::move(method)}), Time{})
        << name << " " << name_of(kind);
  };
  runs("8xmi300x.yaml", 2, Kind::all_reduce, 1 << 18, {});
  runs("8xmi300x.yaml", 2, Kind::reduce_scatter, 100, {});
  runs("ndv4.yaml", 2, Kind::all_gather, 1, {});
  runs("2x4xh200.yaml", 2, Kind::broadcast, 3, {});
  runs("2x4xh200.yaml", 2, Kind::all_to_all, 3, {.engine = Engine::nic});
  runs("2x8xh100_200gbe.yaml", 2, Kind::all_reduce, 1000, {.protocol = Protocol::simple});
  runs("128x8xh100_rail.yaml", 2, Kind::all_reduce, 65536,
       {.algorithm = Algorithm::ring, .protocol = Protocol::simple});
  runs("128x8xh100_rail.yaml", 2, Kind::all_reduce, 4096, {.algorithm = Algorithm::direct});
  libraries::LibrarySpec sliced = *read("2x4xh200.yaml").software.library;
  sliced.channels->ll->slices = 2;
  runs("2x4xh200.yaml", 2, Kind::all_reduce, 4096,
       {.algorithm = Algorithm::ring, .protocol = Protocol::ll, .library = sliced});
}

}  // namespace
}  // namespace moire::collective
