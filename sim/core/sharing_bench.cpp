// Measures the time of one event and the number of solves of the sharing law per event. Amounts of work are random, so
// that hardly any two activities end at the same time.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "sim/core/sharing.hpp"

namespace moire::core {
namespace {

// Restarts every activity that ends, with 8 KiB to 16 KiB of work. An activity that ended in class c restarts in class
// c + hop.
class Restarter final : public EventSink {
 public:
  Restarter(Sharing& sharing, std::uint32_t hop) : sharing_(sharing), hop_(hop) {}
  void start(ClassId into) { sharing_.start(into, 8192 + static_cast<double>(draw() % 8192), *this, into); }
  void fire(std::uint64_t from) override {
    start((static_cast<ClassId>(from) + hop_) % static_cast<ClassId>(sharing_.classes()));
  }

 private:
  std::uint32_t draw() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  Sharing& sharing_;
  std::uint32_t hop_;
  std::uint64_t state_ = 1;
};

CapacityId memory(Sharing& sharing, double latency_growth) {
  return sharing.add_capacity({.name = "hbm", .rate = 4.2e12, .latency_growth = latency_growth, .latency_exponent = 2});
}

void run(benchmark::State& state, RunLoop& loop, Sharing& sharing) {
  loop.settle();
  for (int warm = 0; warm < 10000; ++warm) loop.run_instant();
  const std::uint64_t events = loop.calendar().fired();
  const std::uint64_t solves = sharing.solves();
  for (auto _ : state) loop.run_instant();
  const auto done = static_cast<double>(loop.calendar().fired() - events);
  state.counters["event_time"] = benchmark::Counter(done, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["solves_per_event"] = static_cast<double>(sharing.solves() - solves) / done;
}

// One GPU: three capacities (HBM, L2, ALU) and four classes. 264 workgroups saturate the HBM, 80 do not.
void one_gpu(benchmark::State& state, std::uint32_t workgroups, std::uint32_t hop, double latency_growth) {
  RunLoop loop;
  Sharing sharing(loop);
  const CapacityId hbm = memory(sharing, latency_growth);
  const CapacityId l2 = sharing.add_capacity({.name = "l2", .rate = 9e12});
  const CapacityId alu = sharing.add_capacity({.name = "alu", .rate = 60e12});
  for (int k = 0; k < 4; ++k) {
    sharing.add_class({.demands = {{hbm, 1}, {l2, 1.5}, {alu, 4.0 + k}},
                       .weight = 8192.0 * (1 + k),
                       .bound = 48.7e9,
                       .window = 8192.0 * (1 + k),
                       .latency = 396e-9,
                       .latency_capacity = hbm});
  }
  Restarter restarter(sharing, hop);
  for (std::uint32_t wg = 0; wg < workgroups; ++wg) restarter.start(wg % 4);
  run(state, loop, sharing);
}

// A fully connected node of eight GPUs: 40 capacities, 64 classes (per GPU one local copy and seven copies to peers),
// 64 x 16 workgroups.
void node(benchmark::State& state, std::uint32_t hop, double latency_growth) {
  constexpr std::uint32_t gpus = 8;
  RunLoop loop;
  Sharing sharing(loop);
  struct Gpu {
    CapacityId hbm, l2, alu, out, in;
  };
  std::vector<Gpu> gpu;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    gpu.push_back({memory(sharing, latency_growth), sharing.add_capacity({.name = "l2", .rate = 9e12}),
                   sharing.add_capacity({.name = "alu", .rate = 60e12}),
                   sharing.add_capacity({.name = "out", .rate = 450e9}),
                   sharing.add_capacity({.name = "in", .rate = 450e9})});
  }
  for (std::uint32_t g = 0; g < gpus; ++g) {
    for (std::uint32_t p = 0; p < gpus; ++p) {
      const double batch = 8192.0 * (1 + (g + p) % 4);
      ClassSpec spec{.demands = {{gpu[g].hbm, 2}, {gpu[g].l2, 2}, {gpu[g].alu, 1}},
                     .weight = batch,
                     .bound = 48.7e9,
                     .window = batch,
                     .latency = 396e-9,
                     .latency_capacity = gpu[g].hbm};
      if (p != g) {
        spec.demands = {{gpu[g].hbm, 1}, {gpu[g].out, 1}, {gpu[p].in, 1}, {gpu[p].hbm, 1}};
        spec.latency = 1.2e-6;
      }
      sharing.add_class(spec);
    }
  }
  Restarter restarter(sharing, hop);
  for (std::uint32_t wg = 0; wg < 64 * 16; ++wg) restarter.start(wg % 64);
  run(state, loop, sharing);
}

// 24 GPUs with a link from each to each other: 24 x 23 links, all of them contended, and as many classes.
void full_mesh(benchmark::State& state) {
  constexpr std::uint32_t gpus = 24;
  RunLoop loop;
  Sharing sharing(loop);
  std::vector<CapacityId> hbm;
  for (std::uint32_t g = 0; g < gpus; ++g) hbm.push_back(memory(sharing, 0));
  for (std::uint32_t g = 0; g < gpus; ++g) {
    for (std::uint32_t p = 0; p < gpus; ++p) {
      if (p == g) continue;
      const CapacityId link = sharing.add_capacity({.name = "link", .rate = 25e9 + 1e6 * static_cast<double>(p)});
      sharing.add_class({.demands = {{hbm[g], 1}, {link, 1}, {hbm[p], 1}}, .weight = 1, .bound = 48.7e9});
    }
  }
  Restarter restarter(sharing, 1);
  for (ClassId c = 0; c < sharing.classes(); ++c) restarter.start(c);
  run(state, loop, sharing);
}

BENCHMARK(full_mesh);
BENCHMARK_CAPTURE(one_gpu, replaced_in_kind, 264, 0, 0.0);
BENCHMARK_CAPTURE(one_gpu, solved_each_event, 264, 1, 0.0);
BENCHMARK_CAPTURE(one_gpu, solved_each_event_loaded_latency, 80, 1, 0.3);
BENCHMARK_CAPTURE(node, replaced_in_kind, 0, 0.0);
BENCHMARK_CAPTURE(node, solved_each_event, 9, 0.0);
BENCHMARK_CAPTURE(node, solved_each_event_loaded_latency, 9, 0.3);

}  // namespace
}  // namespace moire::core
