// The benchmark copy_fork: every GPU copies to every other GPU, each copy in a stream of its own. The first stream
// waits for a gate in another stream, then records an event, for which the other streams wait. The first stream
// executes a kernel before this event (`kernel` 1), or before it waits for the gate (2), or none (0). The gates hold
// all streams until everything is enqueued. The time is that of the slowest GPU, between an event of the first stream
// before its copy and one after all copies.
#include <algorithm>

#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr int kRuns = 31;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kSizes[] = {kMib, 4 * kMib, 16 * kMib, 64 * kMib};
constexpr int64_t kPoolBytes = 16 * 64 * kMib;  // for up to 8 GPUs: the sources, then the targets

__global__ void empty_kernel() {}

class Fork {
 public:
  explicit Fork(Collector& c) : c_(c), gpu_(c.gpus()) {
    for (int r = 0; r < c.gpus(); ++r) {
      Gpu& gpu = gpu_[r];
      CUDA_CHECK(cudaSetDevice(r));
      for (cudaEvent_t* event : {&gpu.begin, &gpu.end}) CUDA_CHECK(cudaEventCreate(event));
      for (cudaEvent_t* event : {&gpu.released, &gpu.fork})
        CUDA_CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
      gpu.streams.resize(size_t(c.gpus()) - 1);
      gpu.ends.resize(gpu.streams.size());
      for (cudaStream_t& stream : gpu.streams) CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (cudaEvent_t& end : gpu.ends) CUDA_CHECK(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
    }
  }
  ~Fork() {
    for (size_t r = 0; r < gpu_.size(); ++r) {
      cudaSetDevice(int(r));
      for (cudaEvent_t event : {gpu_[r].begin, gpu_[r].end, gpu_[r].released, gpu_[r].fork}) cudaEventDestroy(event);
      for (cudaEvent_t end : gpu_[r].ends) cudaEventDestroy(end);
      for (cudaStream_t stream : gpu_[r].streams) cudaStreamDestroy(stream);
    }
  }
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

  enum Kernel { none, before_fork, before_wait };
  void bench(int64_t bytes, Kernel kernel) {
    const std::vector<double> time = repeat([&](int) { return once(bytes, kernel); }, kRuns);
    c_.row("copy_fork", Parameters()("bytes", bytes)("gpus", c_.gpus())("kernel", kernel), "time", time, "us");
  }

 private:
  struct Gpu {
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> ends;  // of the streams but the first
    cudaEvent_t begin = nullptr, end = nullptr, released = nullptr, fork = nullptr;
  };

  double once(int64_t bytes, Kernel kernel) {
    for (int r = 0; r < c_.gpus(); ++r) enqueue(r, bytes, kernel);
    gate_.open();
    float slowest = 0;
    for (int r = 0; r < c_.gpus(); ++r) {
      float ms = 0;
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaStreamSynchronize(gpu_[r].streams[0]));
      CUDA_CHECK(cudaEventElapsedTime(&ms, gpu_[r].begin, gpu_[r].end));
      slowest = std::max(slowest, ms);
    }
    if (gate_.gave_up()) {
      std::fprintf(stderr, "copy_fork: a gate gave up: nothing was enqueued in two seconds\n");
      std::exit(1);
    }
    return slowest * 1e3;
  }

  void enqueue(int r, int64_t bytes, Kernel kernel) {
    const Gpu& gpu = gpu_[r];
    CUDA_CHECK(cudaSetDevice(r));
    if (kernel == before_wait) empty_kernel<<<1, 1, 0, gpu.streams[0]>>>();
    gate_.hold(r, c_.stream(r));
    CUDA_CHECK(cudaEventRecord(gpu.released, c_.stream(r)));
    CUDA_CHECK(cudaStreamWaitEvent(gpu.streams[0], gpu.released, 0));
    if (kernel == before_fork) empty_kernel<<<1, 1, 0, gpu.streams[0]>>>();
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(gpu.begin, gpu.streams[0]));
    CUDA_CHECK(cudaEventRecord(gpu.fork, gpu.streams[0]));
    for (size_t k = 0; k < gpu.streams.size(); ++k) {
      const int peer = (r + 1 + int(k)) % c_.gpus();
      const char* from = pool(r) + peer * bytes;
      char* to = pool(peer) + kPoolBytes / 2 + r * bytes;
      if (k > 0) CUDA_CHECK(cudaStreamWaitEvent(gpu.streams[k], gpu.fork, 0));
      CUDA_CHECK(cudaMemcpyPeerAsync(to, peer, from, r, size_t(bytes), gpu.streams[k]));
      if (k > 0) CUDA_CHECK(cudaEventRecord(gpu.ends[k], gpu.streams[k]));
    }
    for (size_t k = 1; k < gpu.streams.size(); ++k) CUDA_CHECK(cudaStreamWaitEvent(gpu.streams[0], gpu.ends[k], 0));
    CUDA_CHECK(cudaEventRecord(gpu.end, gpu.streams[0]));
  }

  char* pool(int gpu) { return reinterpret_cast<char*>(c_.pool(gpu)); }

  Collector& c_;
  HostGate gate_;
  std::vector<Gpu> gpu_;
};

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_fork", kPoolBytes);
  if (!c.wants_peers("copy_fork")) return 0;
  Fork fork(c);
  for (const Fork::Kernel kernel : {Fork::none, Fork::before_fork, Fork::before_wait})
    for (const int64_t bytes : kSizes) fork.bench(bytes, kernel);
  return 0;
}
