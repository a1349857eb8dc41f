// Copies of one stream from one GPU to another, with a command of the stream after each copy that writes a flag beside
// the data, for waiting kernels. The stream of copy_flagged is on the source, whose engine copies. The stream of
// copy_flagged_pull is on the target, so its commands wait for the engine of another GPU. A gate holds the stream until
// all operations are enqueued. The time is that between two events of the stream.
#include "cuda_check.hpp"
#include "harness.hpp"
#include "stream_flag.hpp"

namespace {

constexpr int kRuns = 31;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kPoolBytes = 1024 * kMib + 4096;  // up to 16 copies, and the flag
constexpr int64_t kSizes[] = {kMib / 16, kMib, 4 * kMib, 16 * kMib, 64 * kMib};

constexpr int kTarget = 0, kSource = 1;

// Copies that a stream of GPU `owner` enqueues.
class Copies {
 public:
  Copies(Collector& c, const char* benchmark, int owner) : c_(c), benchmark_(benchmark), owner_(owner) {
    CUDA_CHECK(cudaSetDevice(owner));
    CUDA_CHECK(cudaEventCreate(&begin_));
    CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Copies() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  void bench(int copies, int64_t bytes) {
    CUDA_CHECK(cudaSetDevice(owner_));
    const std::vector<double> time = repeat([&](int) { return once(copies, bytes); }, kRuns);
    c_.row(benchmark_, Parameters()("bytes", bytes)("copies", copies), "time", time, "us");
  }

 private:
  double once(int copies, int64_t bytes) {
    cudaStream_t stream = c_.stream(owner_);
    gate_.hold(owner_, stream);
    CUDA_CHECK(cudaEventRecord(begin_, stream));
    for (int k = 0; k < copies; ++k) {
      CUDA_CHECK(cudaMemcpyPeerAsync(pool(kTarget) + k * bytes, kTarget, pool(kSource) + k * bytes, kSource,
                                     size_t(bytes), stream));
      write_flag(reinterpret_cast<uint32_t*>(pool(kTarget) + kPoolBytes - 4096), stream);
    }
    CUDA_CHECK(cudaEventRecord(end_, stream));
    gate_.open();
    CUDA_CHECK(cudaStreamSynchronize(stream));
    if (gate_.gave_up()) {
      std::fprintf(stderr, "%s: a gate gave up: nothing was enqueued in two seconds\n", benchmark_);
      std::exit(1);
    }
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e3;
  }

  char* pool(int gpu) { return reinterpret_cast<char*>(c_.pool(gpu)); }

  Collector& c_;
  const char* const benchmark_;
  const int owner_;
  HostGate gate_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

void bench(Collector& c, const char* benchmark, int owner) {
  if (!c.wants_peers(benchmark)) return;
  Copies benched(c, benchmark, owner);
  for (const int64_t bytes : kSizes)
    for (const int copies : {1, 2, 4, 8, 16}) benched.bench(copies, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_flagged", kPoolBytes);
  bench(c, "copy_flagged", kSource);
  bench(c, "copy_flagged_pull", kTarget);
  return 0;
}
