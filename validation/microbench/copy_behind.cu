// The benchmark copy_behind: how long an operation of a stream waits for the previous operation if the two are of
// different kinds. The kinds are an empty kernel, a copy to the next GPU by a copy engine, and a copy within the GPU by
// a kernel of the driver. A gate holds the stream until all operations are enqueued. The time is that between two
// events of the stream. copy_steps measures copies of many sizes before another operation (its rows are rows of
// copy_behind, too): how often does the waiting operation look whether the copy has ended? copy_found measures how late
// it finds the end in the mean, on one GPU and on all at the same time.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <vector>

#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "harness.hpp"

namespace {

constexpr int kRuns = 31;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kTargets = 64 * kMib;  // half of the pool; each half can hold three copies of 16 MiB
constexpr int64_t kSizes[] = {kMib / 256, kMib / 16, kMib, 16 * kMib};

// The kinds of operations. They are numbers, because parameters of a measurements file are numbers.
enum Kind { kNone = 0, kKernel = 1, kPeer = 2, kLocal = 3 };

__global__ void empty_kernel() {}

// A sequence of up to three operations, which the first `gpus` GPUs run at the same time.
class Sequence {
 public:
  Sequence(Collector& c, int gpus) : c_(c), begin_(size_t(gpus)), end_(size_t(gpus)) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      CUDA_CHECK(cudaSetDevice(gpu));
      CUDA_CHECK(cudaEventCreate(&begin_[size_t(gpu)]));
      CUDA_CHECK(cudaEventCreate(&end_[size_t(gpu)]));
    }
  }
  ~Sequence() {
    for (size_t gpu = 0; gpu < begin_.size(); ++gpu) {
      cudaEventDestroy(begin_[gpu]);
      cudaEventDestroy(end_[gpu]);
    }
  }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  void bench(int first, int second, int third, int64_t bytes) {
    const int kinds[] = {first, second, third};
    const std::vector<double> time = repeat([&](int) { return once(kinds, bytes); }, kRuns);
    c_.row("copy_behind", Parameters()("first", first)("second", second)("third", third)("bytes", bytes), "time", time,
           "us");
  }

  // Returns the time of the slowest GPU in us.
  double once(const int (&kinds)[3], int64_t bytes) {
    const int gpus = int(begin_.size());
    for (int gpu = 0; gpu < gpus; ++gpu) {
      cudaStream_t stream = c_.stream(gpu);
      CUDA_CHECK(cudaSetDevice(gpu));
      gate_.hold(gpu, stream);
      CUDA_CHECK(cudaEventRecord(begin_[size_t(gpu)], stream));
      for (int k = 0; k < 3; ++k) enqueue(gpu, kinds[k], k * bytes, bytes, stream);
      CUDA_CHECK(cudaEventRecord(end_[size_t(gpu)], stream));
    }
    gate_.open();
    double slowest = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      CUDA_CHECK(cudaStreamSynchronize(c_.stream(gpu)));
      float ms = 0;
      CUDA_CHECK(cudaEventElapsedTime(&ms, begin_[size_t(gpu)], end_[size_t(gpu)]));
      slowest = std::max(slowest, ms * 1e3);
    }
    if (gate_.gave_up()) {
      std::fprintf(stderr, "copy_behind: a gate gave up: nothing was enqueued in two seconds\n");
      std::exit(1);
    }
    return slowest;
  }

 private:
  // Enqueues an operation of kind `kind` on a GPU. Every copy of a sequence has another `offset`, so that no two copies
  // touch the same bytes.
  void enqueue(int gpu, int kind, int64_t offset, int64_t bytes, cudaStream_t stream) {
    const char* from = reinterpret_cast<const char*>(c_.pool(gpu)) + offset;
    const int to_gpu = kind == kPeer ? (gpu + 1) % std::max(int(begin_.size()), 2) : gpu;
    if (kind == kKernel) {
      empty_kernel<<<1, kThreads, 0, stream>>>();
      CUDA_CHECK(cudaGetLastError());
    } else if (kind != kNone) {
      char* to = reinterpret_cast<char*>(c_.pool(to_gpu)) + kTargets + offset;
      if (kind == kLocal)
        CUDA_CHECK(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToDevice, stream));
      else
        CUDA_CHECK(cudaMemcpyPeerAsync(to, to_gpu, from, gpu, size_t(bytes), stream));
    }
  }

  Collector& c_;
  HostGate gate_;
  std::vector<cudaEvent_t> begin_, end_;  // by GPU
};

// Measures all sequences of one to three operations; on a single GPU, those without copies to a peer.
void bench_all(Collector& c) {
  Sequence sequence(c, 1);
  for (int first = kKernel; first <= kLocal; ++first) {
    for (int second = kNone; second <= kLocal; ++second) {
      for (int third = kNone; third <= (second == kNone ? kNone : kLocal); ++third) {
        if (c.gpus() < 2 && (first == kPeer || second == kPeer || third == kPeer)) continue;
        if (first <= kKernel && second <= kKernel && third <= kKernel) {
          sequence.bench(first, second, third, 0);
          continue;
        }
        for (const int64_t bytes : kSizes) sequence.bench(first, second, third, bytes);
      }
    }
  }
}

// Sizes from 64 KiB to 32 MiB, twelve for each power of two, in whole KiB, without those that bench_all() measures.
void bench_steps(Collector& c) {
  Sequence sequence(c, 1);
  for (const int second : {kKernel, kLocal}) {
    for (int step = 0; step <= 9 * 12; ++step) {
      const int64_t bytes = int64_t(std::lround(64 * std::exp2(step / 12.))) * 1024;
      if (std::find(std::begin(kSizes), std::end(kSizes), bytes) == std::end(kSizes))
        sequence.bench(kPeer, second, kNone, bytes);
    }
  }
}

// If the times lie in two clusters, returns the distance of their medians, else 0. The clusters are those on both sides
// of the widest gap, which must be wider than 4 us; each needs an eighth of the times.
double apart(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t upper = 0;
  double widest = 4;
  for (size_t i = 1; i < times.size(); ++i) {
    if (times[i] - times[i - 1] > widest) {
      widest = times[i] - times[i - 1];
      upper = i;
    }
  }
  if (std::min(upper, times.size() - upper) < times.size() / 8) return 0;
  return times[(upper + times.size()) / 2] - times[upper / 2];
}

// Copies to a peer of 64 KiB to 32 MiB, three sizes for each power of two, alone, before an empty kernel and before a
// copy within the GPU. The moments of looks change slowly, so every size is measured once in each round, and a file can
// have the rows of several processes, which `minute` tells apart: minutes since 1970, of
// which the last five digits remain.
void bench_found(Collector& c) {
  constexpr int kRounds = 61, kSteps = 9 * 3 + 1;
  const auto minute = int64_t(std::time(nullptr) / 60 % 100000);
  for (const int gpus : {1, 2}) {
    Sequence sequence(c, gpus);
    for (const int second : {kNone, kKernel, kLocal}) {
      const int kinds[] = {kPeer, second, kNone};
      std::vector<std::vector<double>> times(kSteps);
      const auto bytes = [](int step) { return int64_t(std::lround(64 * std::exp2(step / 3.))) * 1024; };
      for (int round = -kWarmups; round < kRounds; ++round) {
        for (int step = 0; step < kSteps; ++step) {
          const double time = sequence.once(kinds, bytes(step));
          if (round >= 0) times[size_t(step)].push_back(time);
        }
      }
      for (int step = 0; step < kSteps; ++step) {
        const std::vector<double>& each = times[size_t(step)];
        const Parameters p = Parameters()("bytes", bytes(step))("second", second)("gpus", gpus)("minute", minute);
        c.row("copy_found", p, "mean", each, "us", Collector::Middle::mean);
        if (gpus == 1 && apart(each) > 0) c.row("copy_looks", p, "apart", {apart(each)}, "us");
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_behind", 2 * kTargets);
  if (c.wants("copy_behind")) bench_all(c);
  if (c.wants_peers("copy_steps")) bench_steps(c);
  if (c.wants_peers("copy_found")) bench_found(c);
  return 0;
}
