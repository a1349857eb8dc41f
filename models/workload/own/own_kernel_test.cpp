#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "models/workload/kernel/embedding_spec.hpp"
#include "models/workload/operators/registry.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::own {
namespace {

using libraries::EquippedSystem;
using libraries::example_equipped;
using program::Phase;
using program::Rank;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Built {
  std::unique_ptr<program::Program> program;
  std::string errors;
};

Built build(const std::string& kernel, const EquippedSystem& system) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("k.yaml", "queues:\n  main:\n    - kernel:\n" + kernel, {}, diagnostics);
  Built built;
  program::WgTraceFiles traces;
  if (root) built.program = operators::build_program(*root, system, traces, diagnostics).program;
  built.errors = diagnostics.str();
  return built;
}

std::string errors_of(const std::string& kernel, const EquippedSystem& system = example_equipped(2)) {
  const Built built = build(kernel, system);
  EXPECT_EQ(built.program, nullptr);
  return built.errors;
}

replay::Result run(const std::string& kernel, const EquippedSystem& system = example_equipped(2)) {
  const Built built = build(kernel, system);
  EXPECT_EQ(built.errors, "");
  if (!built.program) return {};
  return replay::run(system, *built.program);
}

// By name of a phase: how often the phase ran, and its total time in ps.
using Totals = std::map<std::string, std::pair<std::uint64_t, std::int64_t>>;
Totals totals(const replay::Result& result) {
  Totals all;
  for (const replay::OperationTimes& operation : result.operations) {
    for (const program::PhaseTotal& phase : operation.phases) {
      if (phase.count == 0) continue;
      auto& [count, ps] = all[phase.name];
      count += phase.count;
      ps += std::llround(phase.total.us() * 1e6);
    }
  }
  return all;
}

std::string work(const program::PhaseShape& shape, const std::string& more) {
  return fmt::format(
      "work: {{name: {}, read: {:.17g}, read_miss: {:.17g}, row: {:.17g} B, flop: {:.17g}, write: {:.17g}, "
      "write_miss: {:.17g}, dependent_loads: {:.17g}, dependent_read: {:.17g} B, pause: {} ps, in_flight: {:.17g} B, "
      "random_rows: true, "
      "pipelined: "
      "false{}{}}}",
      shape.name, shape.read, shape.read_miss, shape.row.value, shape.flop, shape.write, shape.write_miss,
      shape.dependent_loads, shape.dependent_read, shape.pause.ps, shape.in_flight.value,
      shape.mixed_stores < 0 ? "" : fmt::format(", mixed_stores: {:.17g}", shape.mixed_stores), more);
}

// Returns the YAML of a custom kernel with formulas that does the same as the fused embedding operator (task order
// peer_by_peer).
std::string embedding_kernel(const EquippedSystem& system, const kernel::EmbeddingSpec& spec) {
  program::Program program(static_cast<Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  kernel::append_fused_embedding(build, spec);
  const auto& built_in = std::get<program::Kernel>(program.queues[0].operations[0]);
  const kernel::EmbeddingSizes sizes(spec, build.ranks());
  enum { keep, gather_for_peer, stage, store, first };
  const auto& shapes = built_in.shapes;
  const auto twice = [&](int shape) {
    return fmt::format(
        "            - if:\n                when: n < workgroups\n                do: [{{{}}}]\n"
        "                else: [{{{}}}]\n",
        work(shapes[shape == stage ? first + 2 : first + shape], ", amount: bags"),
        work(shapes[shape], ", amount: bags"));
  };
  const auto indented = [](std::string text) {
    std::string out = "    ";
    for (const char c : text) out += c == '\n' ? "\n    " : std::string(1, c);
    return out.substr(0, out.size() - 4);
  };
  const std::int64_t tasks_per_slice = spec.slice_vectors / spec.bags_per_workgroup;
  return fmt::format(R"(        name: fused_embedding
        threads: {}
        registers_per_thread: {}
        let:
          tasks: {}
          blocks: {}
          samples: {}
          full: {}
          vector: {}
          per_slice: {}
          slices: ceil_div(tasks, per_slice)
        workgroups: min(resident, tasks * ranks)
        flags: {{ready: ranks, slice_done: slices * ranks}}
        steps:
        - pause: {{time: {} ps}}
        - for:
            each: turn
            below: ranks
            do:
            - let:
                to: mod(rank + 1 + turn, ranks)
                near: {}
                begin: turn * tasks
            - for:
                each: n
                from: begin + mod(workgroup - begin, workgroups)
                below: begin + tasks
                step: workgroups
                do:
                - let:
                    within: n - begin
                    bags: min(full, samples - mod(within, blocks) * full)
                - if:
                    when: to == rank
                    do:
)",
                     spec.threads, spec.fused_registers_per_thread, sizes.tasks_per_rank, sizes.blocks,
                     sizes.samples_per_rank, spec.bags_per_workgroup, sizes.vector_bytes, tasks_per_slice,
                     kernel::before_first_rows(spec, build.gpu(), 0).ps,
                     build.reach().peers() > 0 ? "div(to, gpus) == node" : "to == rank") +
         indented(indented(twice(keep))) +
         "                - if:\n                    when: to != rank && near\n                    do:\n" +
         indented(indented(twice(gather_for_peer))) +
         fmt::format(
             "                    - work: {{name: store to peer, peer: to, peer_write: {:.17g}, write_miss: "
             "{:.17g}, mixed_stores: {:.17g}, in_flight: {:.17g} B, amount: bags, posted: true}}\n",
             shapes[store].peer_write, shapes[store].write_miss, shapes[store].mixed_stores,
             shapes[store].in_flight.value) +
         "                - if:\n                    when: to != rank && near == 0\n                    do:\n" +
         indented(indented(twice(stage))) + R"(                    - let:
                        slice: div(within, per_slice)
                        first: slice * per_slice
                        last: min(first + per_slice, tasks)
                        tables: div(last, blocks) - div(first, blocks)
                        vectors: (last - first) * full - tables * (blocks * full - samples)
)" +
         fmt::format(
             "                    - put: {{to: to, flag: ready, index: rank, bytes: vectors * vector, "
             "queue_pair: 'mod(slice, {})', last: {{counter: slice_done, index: to * slices + slice, of: last - "
             "first}}}}\n",
             system.node.nic ? system.node.nic->queue_pairs : 1) +
         fmt::format(R"(            - if:
                when: near && to != rank
                do:
                - fence: {{time: {} ps}}
                - signal: {{to: to, flag: ready, index: rank}}
        - for:
            each: source
            from: workgroup
            below: ranks - 1
            step: workgroups
            do:
            - let:
                sender: mod(rank + 1 + source, ranks)
            - wait:
                flag: ready
                index: sender
                count: '{} ? workgroups : slices'
)",
                     spec.fence->ps, build.reach().peers() > 0 ? "div(sender, gpus) == node" : "sender == rank");
}

kernel::EmbeddingSpec embedding(const EquippedSystem& system, std::int64_t samples_per_rank) {
  kernel::EmbeddingSpec spec;
  spec.schedule = kernel::Schedule::fused;
  spec.order = kernel::Order::peer_by_peer;
  spec.tables_per_gpu = 8;
  spec.global_batch = samples_per_rank * system.ranks();
  spec.pooling = 20;
  spec.dim = 64;
  spec.rows_per_table = 100000;
  spec.bags_per_workgroup = 8;
  spec.slice_vectors = 32;
  spec.in_flight = {8e3};
  spec.start_up = Time::from_us(1);
  spec.task_overhead = Time::from_ns(200);
  spec.fence = Time::from_ns(700);
  return spec;
}

TEST(OwnKernel, TheEmbeddingOperatorWrittenAsOneTakesTheSameTimeToThePicosecond) {
  struct Machine {
    std::int64_t gpus, nodes;
    link::Wiring wiring;
  };
  for (const Machine& m : {Machine{4, 1, link::Wiring::nvswitch}, Machine{1, 4, link::Wiring::none},
                           Machine{2, 2, link::Wiring::nvswitch}, Machine{2, 3, link::Wiring::full_mesh}}) {
    for (const std::int64_t samples : {64, 61}) {
      const EquippedSystem system = example_equipped(m.gpus, m.nodes, m.wiring);
      const kernel::EmbeddingSpec spec = embedding(system, samples);
      program::Program program(static_cast<Rank>(system.ranks()));
      program.queues.resize(1);
      builder::Builder builder{system, program, program.queues[0]};
      kernel::append_fused_embedding(builder, spec);
      const replay::Result built_in = replay::run(system, program);
      const std::string text = embedding_kernel(system, spec);
      const Built own = build(text, system);
      ASSERT_EQ(own.errors, "") << text;
      const replay::Result mine = replay::run(system, *own.program);
      ASSERT_EQ(built_in.deadlock, "");
      EXPECT_EQ(mine.end, built_in.end);
      EXPECT_EQ(mine.rank_end, built_in.rank_end);
      EXPECT_EQ(totals(mine), totals(built_in));
      EXPECT_EQ(mine.workgroups, built_in.workgroups);
      EXPECT_EQ(mine.traffic.puts, built_in.traffic.puts);
      EXPECT_EQ(mine.traffic.put_bytes, built_in.traffic.put_bytes);
      EXPECT_EQ(mine.traffic.scale_up_bytes, built_in.traffic.scale_up_bytes);
    }
  }
}

TEST(OwnKernel, MathTakesItsFlopsAtTheRateOfTheCu) {
  const auto time = [](const std::string& math) {
    const replay::Result result = run("        {threads: 1024, workgroups: 1, steps: [{math: " + math + "}]}\n");
    return totals(result).at("math").second;
  };
  EXPECT_EQ(time("{flop: 1e9}"), 2'000'000'000);  // ps: 1 ms on each of two ranks, at 1 TFLOP/s per CU
  EXPECT_EQ(time("{flop: 5e9, unit: matrix, dtype: bf16}"), 2'000'000'000);
}

TEST(OwnKernel, WaitsStandWhereTheyAreWritten) {
  const std::string head = "        threads: 1024\n        workgroups: 1\n        flags: {go: 1}\n        steps:\n";
  const std::string late =
      "        - if: {when: rank == 1, do: [{pause: {time: 100 us}}]}\n        - for_peers: {each: p, do: [{signal: "
      "{to: p, flag: go}}]}\n";
  const std::string wait = "        - wait: {flag: go, count: 1}\n";
  const std::string math = "        - math: {flop: 1e7}\n";  // takes 10 us
  EXPECT_GT(run(head + late + wait + math).rank_end[0], run(head + late + math + wait).rank_end[0] + Time::from_us(9));
}

TEST(OwnKernel, TilesFromACounterGoToWhoeverIsFree) {
  // The first workgroup begins with a pause of 50 us, so the second workgroup takes nearly all of the 10 tiles.
  const std::string kernel =
      "        {threads: 1024, workgroups: 2, steps: [{if: {when: workgroup == 0, do: [{pause: {time: 50 us}}]}}, "
      "{take: "
      "{each: tile, below: 10, do: [{math: {flop: 5e6 + tile * 0}}]}}]}\n";
  const replay::Result result = run(kernel);
  EXPECT_EQ(totals(result).at("math").first, 20);  // 10 tiles on each of two ranks
  EXPECT_LT(result.end, Time::from_us(60));
}

TEST(OwnKernel, AskedOutOfOrderTheAnswerIsTheSame) {
  const EquippedSystem system = example_equipped(2);
  const Built built = build(
      "        {workgroups: 3, steps: [{for: {each: i, below: 5, do: [{pause: {time: 1 us, times: i + workgroup + "
      "1}}]}}]}\n",
      system);
  ASSERT_EQ(built.errors, "");
  const auto& kernel = std::get<program::Kernel>(built.program->queues[0].operations[0]);
  for (const std::uint32_t step : {4U, 0U, 3U, 3U, 1U, 5U, 2U}) {
    Phase phase;
    ASSERT_EQ(kernel.body->phase(1, 2, step, phase), step < 5);
    if (step < 5) {
      EXPECT_EQ(phase.duration, Time::from_us(step + 3));
    }
  }
}

TEST(OwnKernel, WhatIsWrongIsSaidWhereItStands) {
  const auto of = [](const std::string& step, const std::string& more = "") {
    return errors_of("        workgroups: 2\n" + more + "        steps:\n          - " + step + "\n");
  };
  EXPECT_THAT(of("load: {bytes: sise}"), HasSubstr("k.yaml:6:27: 'bytes' uses the unknown name 'sise'"));
  EXPECT_THAT(of("load: {bytes: 2 ^ 3}"), HasSubstr("'bytes' has a power: '2 ^ 3'; write it as a product"));
  EXPECT_THAT(of("load: {bytes: rank = 3}"), HasSubstr("assigns with '='"));
  EXPECT_THAT(of("load: {bytes: (3}"), HasSubstr("'bytes' is not a formula: "));
  EXPECT_THAT(of("load: {bytes: 1 / rank}"), HasSubstr("'bytes' is inf (rank 0, workgroup 0); it must be 0 to 1e+15"));
  EXPECT_THAT(of("load: {bytes: workgroup - 1}"),
              HasSubstr("'bytes' is -1 (rank 0, workgroup 0); it must be 0 to 1e+15"));
  EXPECT_THAT(of("store: {bytes: 8, to: rank + 1}"), HasSubstr("'to' is 2 (rank 1, workgroup 0); it must be 0 to 1"));
  EXPECT_THAT(of("store: {bytes: 8, to: 0.5}"), HasSubstr("'to' is 0.5 (rank 0, workgroup 0); write an integer"));
  EXPECT_THAT(of("put: {bytes: 8, to: 1 - rank, flag: f}", "        flags: {f: 1}\n"),
              HasSubstr("there is none in the node of rank 0"));
  EXPECT_THAT(of("signal: {to: rank, flag: g}", "        flags: {f: 1}\n"),
              HasSubstr("k.yaml:7:38: the kernel has no flags 'g'"));
  EXPECT_THAT(of("signal: {to: rank, flag: f, index: 1}", "        flags: {f: 1}\n"),
              HasSubstr("'index' is 1 (rank 0, workgroup 0); it must be 0 to 0"));
  EXPECT_THAT(of("wait: {flag: f, count: 1}", "        flags: {f: 1}\n"),
              HasSubstr("rank 0 waits until flag kernel.f[0] of rank 0 was raised 1 times, but it is raised 0 times"));
  EXPECT_THAT(of("math: {flop: 1, unit: matrix}"), HasSubstr("does not match the unit"));
  EXPECT_THAT(of("for: {each: rank, below: 3, do: [{fence: {}}]}"), HasSubstr("'rank' is already used as a name"));
  EXPECT_THAT(of("for: {each: i, below: 1e30, do: [{fence: {}}]}"), HasSubstr("'below' is 1e+30"));
  EXPECT_THAT(of("for: {each: i, below: 1e9, do: [{if: {when: 0, do: [{fence: {}}]}}]}"),
              HasSubstr("rounds pass in which no step takes time"));
  EXPECT_THAT(of("for: {each: i, below: 1e9, do: [{fence: {}}]}"), HasSubstr("more than 20 million steps"));
  EXPECT_THAT(of("for: {each: i, below: 3, do: []}"), HasSubstr("the list has no steps"));
  EXPECT_THAT(of("{load: {bytes: 1}, math: {flop: 1}}"), HasSubstr("the step has 2 keys"));
  EXPECT_THAT(of("for_peers: {each: p, do: [{let: {x: 2}}, {load: {bytes: 0 - p}}]}"),
              HasSubstr("'bytes' is -1 (rank 0, workgroup 0, p 1, x 2); it must be 0 to"));
  EXPECT_THAT(of("for_peers: {each: p, do: [{fence: {}}]}\n          - load: {bytes: 0 - 1}"),
              HasSubstr("'bytes' is -1 (rank 0, workgroup 0); it must be 0 to"))
      << "the message does not list names of loops that have ended";
  EXPECT_THAT(of("take: {each: i, below: 3, do: [{math: {flop: workgroup}}]}"), HasSubstr("uses the workgroup"));
  EXPECT_THAT(of("work: {name: w}"), HasSubstr("has no demands"));
  EXPECT_THAT(errors_of("        {workgroups: rank, steps: [{fence: {}}]}\n"),
              HasSubstr("'workgroups' uses the unknown name 'rank'"));
  EXPECT_THAT(errors_of("        {workgroups: 0, steps: [{fence: {}}]}\n"),
              HasSubstr("'workgroups' is 0; it must be 1 to 1000000000"));
}

TEST(OwnKernel, BetweenNodesOnlyPutsGetThere) {
  const EquippedSystem system = example_equipped(2, 2);
  EXPECT_THAT(errors_of("        {workgroups: 1, steps: [{store: {bytes: 8, to: 'mod(rank + 2, ranks)'}}]}\n", system),
              HasSubstr("loads, stores and signals cannot reach it from rank 0 (rank 0, workgroup 0); name a rank of "
                        "the same node, or use a put"));
  const replay::Result result = run(
      "        {workgroups: 1, flags: {come: 1}, steps: [{for_peers: {each: p, of: others, do: [{put: {to: p, bytes: 1 "
      "KiB, flag: come}}]}}, {wait: {flag: come, count: 2}}]}\n",
      system);
  EXPECT_EQ(result.deadlock, "");
  EXPECT_EQ(result.traffic.puts, 8);
  EXPECT_EQ(result.traffic.put_bytes, Bytes{8 * 1024});
}

}  // namespace
}  // namespace moire::own
