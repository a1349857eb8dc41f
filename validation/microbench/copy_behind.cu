// The benchmark copy_behind: how long an operation of a stream waits for the previous operation if the two are of
// different kinds. The kinds are an empty kernel, a copy to the next GPU by a copy engine, and a copy within the GPU by
// a kernel of the driver. A gate holds the stream until all operations are enqueued. The time is that between two
// events of the stream. copy_steps measures copies of many sizes before another operation (its rows are rows of
// copy_behind, too): how often does the waiting operation look whether the copy has ended?
#include <algorithm>
#include <cmath>
#include <iterator>

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

class Sequence {
 public:
  explicit Sequence(Collector& c) : c_(c) {
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaEventCreate(&begin_));
    CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Sequence() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  void bench(int first, int second, int third, int64_t bytes) {
    const int kinds[] = {first, second, third};
    const std::vector<double> time = repeat([&](int) { return once(kinds, bytes); }, kRuns);
    c_.row("copy_behind", Parameters()("first", first)("second", second)("third", third)("bytes", bytes), "time", time,
           "us");
  }

 private:
  double once(const int (&kinds)[3], int64_t bytes) {
    cudaStream_t stream = c_.stream(0);
    gate_.hold(0, stream);
    CUDA_CHECK(cudaEventRecord(begin_, stream));
    for (int k = 0; k < 3; ++k) enqueue(kinds[k], k * bytes, bytes, stream);
    CUDA_CHECK(cudaEventRecord(end_, stream));
    gate_.open();
    CUDA_CHECK(cudaStreamSynchronize(stream));
    if (gate_.gave_up()) {
      std::fprintf(stderr, "copy_behind: a gate gave up: nothing was enqueued in two seconds\n");
      std::exit(1);
    }
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e3;
  }

  // Enqueues an operation of kind `kind`. Every copy of a sequence has another `offset`, so that no two copies touch
  // the same bytes.
  void enqueue(int kind, int64_t offset, int64_t bytes, cudaStream_t stream) {
    const char* from = reinterpret_cast<const char*>(c_.pool(0)) + offset;
    const int to_gpu = kind == kPeer ? 1 : 0;
    if (kind == kKernel) {
      empty_kernel<<<1, kThreads, 0, stream>>>();
      CUDA_CHECK(cudaGetLastError());
    } else if (kind != kNone) {
      char* to = reinterpret_cast<char*>(c_.pool(to_gpu)) + kTargets + offset;
      if (kind == kLocal)
        CUDA_CHECK(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToDevice, stream));
      else
        CUDA_CHECK(cudaMemcpyPeerAsync(to, to_gpu, from, 0, size_t(bytes), stream));
    }
  }

  Collector& c_;
  HostGate gate_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// Measures all sequences of one to three operations; on a single GPU, those without copies to a peer.
void bench_all(Collector& c) {
  Sequence sequence(c);
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
  Sequence sequence(c);
  for (const int second : {kKernel, kLocal}) {
    for (int step = 0; step <= 9 * 12; ++step) {
      const int64_t bytes = int64_t(std::lround(64 * std::exp2(step / 12.))) * 1024;
      if (std::find(std::begin(kSizes), std::end(kSizes), bytes) == std::end(kSizes))
        sequence.bench(kPeer, second, kNone, bytes);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_behind", 2 * kTargets);
  if (c.wants("copy_behind")) bench_all(c);
  if (c.wants_peers("copy_steps")) bench_steps(c);
  return 0;
}
