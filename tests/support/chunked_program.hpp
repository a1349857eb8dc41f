// Common code of the tests of chunked collectives. It builds programs from operators, counts their operations, and
// computes the times of single steps, from which tests compute the expected time of a collective.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "models/workload/operators/registry.hpp"
#include "tests/support/example_codec.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::chunked {

using libraries::EquippedSystem;
using libraries::example_equipped;
using program::Rank;

struct Built {
  std::unique_ptr<program::Program> program;
  std::vector<std::string> notes;
  std::string errors;
};

inline std::string by_codec(const std::string& compression, const std::string& codec) {
  return fmt::format("compression: {}, codec: {}", compression, codec::flow(codec));
}

inline Built build(const std::string& operations, const EquippedSystem& system) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text(
      "t.yaml", codec::codec_sources + fmt::format("queues: {{main: [{}]}}\n", operations), {}, diagnostics);
  Built built;
  program::WgTraceFiles traces;
  if (root) {
    auto made = operators::build_program(*root, system, traces, diagnostics);
    built.program = std::move(made.program);
    built.notes = std::move(made.notes);
  }
  built.errors = diagnostics.str();
  return built;
}

inline replay::Result run(const std::string& operations, const EquippedSystem& system) {
  const Built built = build(operations, system);
  EXPECT_EQ(built.errors, "");
  if (!built.program) return {};
  replay::Result result = replay::run(system, *built.program);
  EXPECT_EQ(result.deadlock, "");
  return result;
}

// Counts the operations of a program: bytes copied between two ranks, flags raised and awaited, and kernels.

struct Walk {
  std::map<std::pair<Rank, Rank>, double> bytes;
  double to_hosts = 0, from_hosts = 0;  // bytes copied into and out of the memory of hosts
  std::map<program::FlagRef, std::int64_t> raised, awaited;
  std::map<std::pair<Rank, std::string>, int> kernels;  // by rank and the name after its last "."
  int count(Rank rank, const std::string& what) const {
    const auto at = kernels.find({rank, what});
    return at == kernels.end() ? 0 : at->second;
  }
};

inline Walk walk(const program::Program& program) {
  Walk all;
  for (const program::Queue& queue : program.queues) {
    for (const program::Operation& operation : queue.operations) {
      for (Rank rank = 0; rank < program.ranks(); ++rank) {
        if (!program::runs_on(operation, rank)) continue;
        if (const auto* copy = std::get_if<program::Copy>(&operation)) {
          const program::Transfer transfer = copy->transfer(rank);
          EXPECT_GE(transfer.bytes.value, 1);
          if (transfer.way == program::Transfer::Way::to_host) {
            all.to_hosts += transfer.bytes.value;
            continue;
          }
          EXPECT_NE(transfer.peer, rank);
          if (transfer.way == program::Transfer::Way::from_host) all.from_hosts += transfer.bytes.value;
          all.bytes[{rank, transfer.peer}] += transfer.bytes.value;
          ++all.raised[transfer.flag];
        } else if (const auto* wait = std::get_if<program::Wait>(&operation)) {
          all.awaited[wait->flag(rank)] = std::max(all.awaited[wait->flag(rank)], wait->target);
        } else if (const auto* signal = std::get_if<program::Signal>(&operation)) {
          ++all.raised[signal->flag(rank)];
        } else if (const auto* kernel = std::get_if<program::Kernel>(&operation)) {
          double blocks = 0;
          program::Phase phase;
          for (std::int64_t w = 0; w < kernel->body->workgroups(rank); ++w)
            for (std::uint32_t step = 0; kernel->body->phase(rank, w, step, phase); ++step, phase = {})
              blocks += phase.amount;
          for (std::int64_t item = 0; item < kernel->body->items(rank); ++item)
            for (std::uint32_t step = 0; kernel->body->item_phase(rank, item, step, phase); ++step, phase = {})
              blocks += phase.amount;
          EXPECT_GE(blocks, 1 - 1e-9);
          EXPECT_NEAR(blocks, std::round(blocks), 1e-9);
          ++all.kernels[{rank, kernel->name.substr(kernel->name.rfind('.') + 1)}];
        }
      }
    }
  }
  return all;
}

// A chain of nodes with one GPU each, along which chunks are forwarded. hop() returns the seconds in which a chunk
// compressed by `ratio` reaches the next GPU. hops() returns after how many of these times the last chunk reaches the
// last GPU.
struct Pipeline {
  EquippedSystem system;
  double chunks, ranks, chunk, latency, rate = 25e9;
  double hops() const { return chunks + ranks - 2; }
  double hop(double ratio = 1) const { return latency + chunk / ratio / rate; }
};

inline Pipeline pipeline(Rank ranks, std::int64_t chunks, double bytes) {
  Pipeline made{example_equipped(1, ranks), static_cast<double>(chunks), static_cast<double>(ranks),
                bytes / static_cast<double>(chunks), 0};
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(made.system, loop);
  std::vector<core::LinkId> path;
  const core::Topology& topology = machine->service<part::Networks>().topology();
  topology.route(0, 1, 0, path);
  made.latency = 300e-9 + 800e-9 + 300e-9 + 200e-9 + 20e-9 + 500e-9 + 400e-9;  // latencies of the example's NIC
  for (const core::LinkId link : path) made.latency += topology.links()[link].latency.seconds();
  return made;
}

// Returns the time in seconds of a codec operator, such as `compress`, that runs alone on `bytes` bytes.
inline double alone(const EquippedSystem& system, const char* op, double bytes, const std::string& codec) {
  return run(fmt::format("{{{}: {{bytes: {} B, codec: {}}}}}", op, bytes, codec::flow(codec)), system).end.seconds();
}

}  // namespace moire::chunked
