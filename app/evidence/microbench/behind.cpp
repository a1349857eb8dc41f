// Benchmark of kernels and copies that follow each other on one stream, between two events. All of them are enqueued
// long before they run.
#include <algorithm>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

// Values of the parameters `first`, `second` and `third` in rows of copy_behind: the kinds of the operations.
enum Kind : std::int64_t { none = 0, empty_kernel = 1, peer_copy = 2, local_copy = 3 };

program::Operation operation(const machine::GpuSpec& gpu, std::int64_t kind, const std::string& name, double bytes) {
  if (kind == empty_kernel) {
    return kernel(
        name, gpu, 1, [](Rank rank) { return rank == 0 ? 1 : 0; }, {},
        [](Rank, std::int64_t, std::uint32_t step, Phase& phase) {
          return step == 0 && delay(phase, Time::from_ns(1));
        });
  }
  const bool to_peer = kind == peer_copy;
  return program::Copy{name, [to_peer, bytes](Rank rank) {
                         if (rank != 0) return program::Transfer{rank, Bytes{}, program::no_flag};
                         return program::Transfer{
                             .peer = to_peer ? Rank{1} : rank, .bytes = Bytes{bytes}, .again = !to_peer};
                       }};
}

// Records the end of the last operation of the first GPU. The other GPUs have nothing to do.
class Watch final : public program::Observer {
 public:
  void operation(const program::OperationSpan& span) override {
    if (span.rank == 0) end = std::max(end, span.end);
  }
  Time end;
};

Values run(const SystemSpec& system, const Parameters& parameters) {
  const double bytes = number(parameters, "bytes");
  std::vector<program::Operation> operations;
  bool peers = false;
  SystemSpec node = one_node(system);
  for (const char* name : {"first", "second", "third"}) {
    const std::int64_t kind = count(parameters, name);
    if (kind == none) break;
    if (kind > local_copy) throw std::invalid_argument(std::string(name) + " must be 0 to 3");
    peers = peers || kind == peer_copy;
    operations.push_back(operation(node.node.gpu, kind, name, bytes));
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
  Watch watch;
  simulate(node, program, &watch);
  return {{"time", watch.end.us()}};
}

}  // namespace

std::vector<Benchmark> behind_benchmarks() {
  return {{"copy_behind",
           "Kernels, copies to a peer and copies within the GPU behind each other on one stream.",
           {{"first", "second", "third", "bytes"}},
           {{"time", "us"}},
           run}};
}

}  // namespace moire::microbench
