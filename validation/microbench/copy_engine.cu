// The benchmarks copy_*: copies by the GPUs' copy engines, as a single copy, cut into several copies, and in patterns
// of several GPUs. A gate holds every stream until all copies are enqueued. The times are those between events.
#include <algorithm>

#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kSources = 0, kTargets = int64_t{4} << 30;  // offsets of the two halves of the pool
constexpr int64_t kSizes[] = {kMib / 16, kMib / 4, kMib, 4 * kMib, 16 * kMib, 64 * kMib, 256 * kMib};

struct Copy {
  int from, to;
  int64_t source, target, bytes;  // offsets into the pools
};

// The copies of one stream, in the order in which they are enqueued. The stream is on the source GPU of the first copy.
using Queue = std::vector<Copy>;

class Engines {
 public:
  explicit Engines(Collector& c) : c_(c) {}
  ~Engines() {
    for (Lane& lane : lanes_) {
      cudaSetDevice(lane.gpu);
      cudaStreamDestroy(lane.stream);
      cudaEventDestroy(lane.begin);
      cudaEventDestroy(lane.end);
    }
  }
  Engines(const Engines&) = delete;
  Engines& operator=(const Engines&) = delete;

  struct Times {
    std::vector<double> last, first;  // in us: when the last stream and when the first stream ended, per repetition
  };

  Times measure(const std::vector<Queue>& queues) {
    std::vector<Lane*> lanes;
    std::vector<int> taken(c_.gpus(), 0);
    for (const Queue& queue : queues) lanes.push_back(&lane(queue.front().from, taken[queue.front().from]++));
    Times times;
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      for (size_t q = 0; q < queues.size(); ++q) {
        Lane& lane = *lanes[q];
        gate_.hold(lane.gpu, lane.stream);
        CUDA_CHECK(cudaEventRecord(lane.begin, lane.stream));
        for (const Copy& copy : queues[q]) {
          char* to = reinterpret_cast<char*>(c_.pool(copy.to)) + kTargets + copy.target;
          const char* from = reinterpret_cast<const char*>(c_.pool(copy.from)) + kSources + copy.source;
          if (copy.to == copy.from)
            CUDA_CHECK(cudaMemcpyAsync(to, from, size_t(copy.bytes), cudaMemcpyDeviceToDevice, lane.stream));
          else
            CUDA_CHECK(cudaMemcpyPeerAsync(to, copy.to, from, copy.from, size_t(copy.bytes), lane.stream));
        }
        CUDA_CHECK(cudaEventRecord(lane.end, lane.stream));
      }
      gate_.open();
      for (Lane* lane : lanes) {
        CUDA_CHECK(cudaSetDevice(lane->gpu));
        CUDA_CHECK(cudaStreamSynchronize(lane->stream));
      }
      if (gate_.gave_up()) {
        std::fprintf(stderr, "copy_engine: a gate gave up: copies were not enqueued in two seconds\n");
        std::exit(1);
      }
      double last = 0, first = 1e300;
      // The end of a stream counts from the moment at which the first stream of the same GPU was released, because the
      // gates of a GPU's streams open one after the other.
      for (const Lane* ended : lanes) {
        float longest = 0;
        CUDA_CHECK(cudaSetDevice(ended->gpu));
        for (const Lane* released : lanes) {
          if (released->gpu != ended->gpu) continue;
          float ms = 0;
          CUDA_CHECK(cudaEventElapsedTime(&ms, released->begin, ended->end));
          longest = std::max(longest, ms);
        }
        last = std::max(last, longest * 1e3);
        first = std::min(first, longest * 1e3);
      }
      if (i < kWarmups) continue;
      times.last.push_back(last);
      times.first.push_back(first);
    }
    return times;
  }

  void bench(const char* name, const Parameters& p, const std::vector<Queue>& queues, bool first_end) {
    const Times times = measure(queues);
    c_.row(name, p, "time", times.last, "us");
    if (first_end) c_.row(name, p, "first_end", times.first, "us");
  }

 private:
  struct Lane {
    int gpu = 0;
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
  };
  // Returns stream number `index` of a GPU, and creates it if it does not exist yet.
  Lane& lane(int gpu, int index) {
    const size_t at = size_t(gpu) * kLanes + size_t(index);
    if (lanes_.empty()) lanes_.reserve(size_t(c_.gpus()) * kLanes);
    while (lanes_.size() <= at) {
      Lane fresh;
      fresh.gpu = int(lanes_.size()) / kLanes;
      CUDA_CHECK(cudaSetDevice(fresh.gpu));
      CUDA_CHECK(cudaStreamCreateWithFlags(&fresh.stream, cudaStreamNonBlocking));
      CUDA_CHECK(cudaEventCreate(&fresh.begin));
      CUDA_CHECK(cudaEventCreate(&fresh.end));
      lanes_.push_back(fresh);
    }
    return lanes_[at];
  }

  static constexpr int kLanes = 8;
  Collector& c_;
  HostGate gate_;
  std::vector<Lane> lanes_;
};

void bench_single(Collector& c, Engines& engines) {
  for (int remote = 0; remote <= (c.gpus() > 1 ? 1 : 0); ++remote)
    for (const int64_t bytes : kSizes)
      engines.bench("copy_single", Parameters()("bytes", bytes)("remote", remote), {{{0, remote, 0, 0, bytes}}}, false);
}

void bench_chunked(Engines& engines) {
  for (const int64_t bytes : {kMib, 4 * kMib, 16 * kMib, 64 * kMib, 256 * kMib}) {
    for (const int chunks : {1, 2, 4, 8, 16, 32, 64}) {
      Queue queue;
      const int64_t piece = bytes / chunks;
      for (int k = 0; k < chunks; ++k) queue.push_back({0, 1, k * piece, k * piece, piece});
      engines.bench("copy_chunked", Parameters()("bytes", bytes)("chunks", chunks), {queue}, false);
    }
  }
}

void bench_streams(Engines& engines) {
  for (const int64_t bytes : kSizes) {
    for (const int copies : {1, 2, 3, 4}) {
      std::vector<Queue> queues;
      for (int k = 0; k < copies; ++k) queues.push_back({{0, 1, k * bytes, k * bytes, bytes}});
      engines.bench("copy_streams", Parameters()("bytes", bytes)("copies", copies), queues, true);
    }
  }
}

void bench_fans(Collector& c, Engines& engines, bool out) {
  for (const int64_t bytes : kSizes) {
    for (int n = 1; n < c.gpus(); ++n) {
      std::vector<Queue> queues;
      for (int k = 1; k <= n; ++k)
        queues.push_back(out ? Queue{{0, k, k * bytes, 0, bytes}} : Queue{{k, 0, 0, k * bytes, bytes}});
      engines.bench(out ? "copy_fan_out" : "copy_fan_in", Parameters()("bytes", bytes)(out ? "peers" : "senders", n),
                    queues, true);
    }
  }
}

void bench_pairs(Engines& engines) {
  for (const int64_t bytes : kSizes)
    engines.bench("copy_pairs", Parameters()("bytes", bytes), {{{0, 1, 0, 0, bytes}}, {{1, 0, 0, 0, bytes}}}, true);
}

void bench_all_to_all(Collector& c, Engines& engines) {
  for (int gpus = 2; gpus <= c.gpus(); gpus += std::max(1, c.gpus() - 2)) {
    for (const int streams : {1, gpus - 1}) {
      for (const int64_t bytes : kSizes) {
        std::vector<Queue> queues;
        for (int r = 0; r < gpus; ++r) {
          Queue rotated;
          for (int k = 1; k < gpus; ++k) rotated.push_back({r, (r + k) % gpus, k * bytes, r * bytes, bytes});
          if (streams == 1)
            queues.push_back(rotated);
          else
            for (const Copy& copy : rotated) queues.push_back({copy});
        }
        engines.bench("copy_all_to_all", Parameters()("bytes", bytes)("gpus", gpus)("streams", streams), queues, false);
      }
      if (gpus == 2) break;  // with one peer, one stream and one stream per peer are the same
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_engine", kPoolBytes);
  Engines engines(c);
  if (c.wants("copy_single")) bench_single(c, engines);
  if (c.wants_peers("copy_chunked")) bench_chunked(engines);
  if (c.wants_peers("copy_streams")) bench_streams(engines);
  if (c.wants_peers("copy_fan_out")) bench_fans(c, engines, true);
  if (c.wants_peers("copy_fan_in")) bench_fans(c, engines, false);
  if (c.wants_peers("copy_pairs")) bench_pairs(engines);
  if (c.wants_peers("copy_all_to_all")) bench_all_to_all(c, engines);
  return 0;
}
