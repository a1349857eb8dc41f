// Benchmark of kernels and copies that follow each other on one stream, between two events. All of them are enqueued
// long before they run.
#include <algorithm>
#include <initializer_list>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

// Values of the parameters `first`, `second` and `third` in rows of copy_behind: the kinds of the operations.
enum Kind : std::int64_t { none = 0, empty_kernel = 1, peer_copy = 2, local_copy = 3 };

program::Operation operation(const machine::GpuSpec& gpu, Rank gpus, std::int64_t kind, double bytes) {
  if (kind == empty_kernel) {
    return kernel(
        "kernel", gpu, 1, [gpus](Rank rank) { return rank < gpus ? 1 : 0; }, {},
        [](Rank, std::int64_t, std::uint32_t step, Phase& phase) {
          return step == 0 && delay(phase, Time::from_ns(1));
        });
  }
  const bool to_peer = kind == peer_copy;
  return program::Copy{"copy", [=](Rank rank) {
                         if (rank >= gpus) return program::Transfer{rank, Bytes{}, program::no_flag};
                         return program::Transfer{.peer = to_peer ? (rank + 1) % std::max<Rank>(gpus, 2) : rank,
                                                  .bytes = Bytes{bytes},
                                                  .again = !to_peer};
                       }};
}

// Records the end of the last operation of the first `gpus` GPUs. The other GPUs have nothing to do.
class Watch final : public program::Observer {
 public:
  explicit Watch(Rank gpus) : gpus_(gpus) {}
  void operation(const program::OperationSpan& span) override {
    if (span.rank < gpus_) end = std::max(end, span.end);
  }
  Time end;

 private:
  Rank gpus_;
};

// Returns the time in us of operations behind each other on each of the first `gpus` GPUs, until the last GPU has
// ended.
double time_of_last(const SystemSpec& system, std::initializer_list<std::int64_t> kinds, Rank gpus, double bytes) {
  std::vector<program::Operation> operations;
  bool peers = false;
  SystemSpec node = one_node(system);
  for (const std::int64_t kind : kinds) {
    if (kind == none) break;
    if (kind > local_copy)
      throw std::invalid_argument(
          "an operation must be 0 (none), 1 (kernel), 2 (copy to a peer) or 3 (copy within the GPU)");
    peers = peers || kind == peer_copy;
    operations.push_back(operation(node.node.gpu, gpus, kind, bytes));
  }
  if (operations.empty()) throw std::invalid_argument("first must be 1 to 3");
  if (peers) need_gpus(system, 2);
  if (!peers) node = one_gpu(system);
  node.node.gpu.host = system.node.gpu.host;
  node.node.gpu.host.enqueue = {};
  node.node.gpu.host.copy_enqueue = {};
  // Time 0 is the first event. If the first operation is a kernel, it starts after the time that the events cost. If
  // the first operation is a copy, the time of its command already includes this cost.
  node.node.gpu.host.kernel_start = node.node.gpu.host.event_pair;
  program::Program program(static_cast<Rank>(node.node.gpus));
  program.queues = {queue("main", std::move(operations))};
  Watch watch(gpus);
  simulate(node, program, &watch);
  return watch.end.us();
}

Values behind(const SystemSpec& system, const Parameters& p) {
  return {{"time",
           time_of_last(system, {count(p, "first"), count(p, "second"), count(p, "third")}, 1, number(p, "bytes"))}};
}

Values found(const SystemSpec& system, const Parameters& p) {
  const std::int64_t gpus = count(p, "gpus");
  if (gpus < 1) throw std::invalid_argument("gpus must be at least 1");
  need_gpus(system, gpus);
  return {{"mean", time_of_last(system, {peer_copy, count(p, "second")}, static_cast<Rank>(gpus), number(p, "bytes"))}};
}

}  // namespace

std::vector<Benchmark> behind_benchmarks() {
  return {{"copy_behind",
           "Kernels, copies to a peer and copies within the GPU behind each other on one stream.",
           {{"first", "second", "third", "bytes"}},
           {{"time", "us"}},
           behind},
          {"copy_found",
           "A copy to a peer and what follows it on the stream, on several GPUs at the same time.",
           {{"bytes", "second", "gpus", "minute"}},
           {{"mean", "us"}},
           found}};
}

}  // namespace moire::microbench
