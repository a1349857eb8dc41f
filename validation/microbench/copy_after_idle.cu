// The benchmark copy_after_idle: a copy from one GPU to another that begins some time after the last one, and with
// flag=1 a command of the stream behind it that writes a flag. In this time the GPUs are idle (work=0), or a kernel of
// the source spins on one SM (work=1) for a random time that is up to 16 us longer, so that the moments at which the
// queue polls for the kernel's end are random. A gate holds the stream until the copy is enqueued. The time is that
// between two events of the stream, of which the first is behind gate and kernel.
#include <chrono>
#include <random>
#include <thread>

#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "harness.hpp"
#include "stream_flag.hpp"

namespace {

constexpr int kRuns = 61;
constexpr int64_t kPoolBytes = int64_t{1} << 30;
constexpr int kTarget = 0, kSource = 1;
constexpr int64_t kFlagAt = kPoolBytes - 4096;

__global__ void spin(uint64_t ns) {
  const uint64_t end = global_ns() + ns;
  while (global_ns() < end) {
  }
}

class Copier {
 public:
  explicit Copier(Collector& c) : c_(c) {
    CUDA_CHECK(cudaSetDevice(kSource));
    CUDA_CHECK(cudaEventCreate(&begin_));
    CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Copier() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  void bench(int64_t bytes, int kind, int64_t idle_us) {
    CUDA_CHECK(cudaSetDevice(kSource));
    for (const bool flag : {false, true}) {
      const std::vector<double> time =
          repeat([&](int) { return once(bytes, kind, idle_us, flag); }, idle_us > 10'000 ? 15 : kRuns);
      c_.row("copy_after_idle", Parameters()("bytes", bytes)("work", kind)("idle_us", idle_us)("flag", flag), "time",
             time, "us");
    }
  }

 private:
  double once(int64_t bytes, int kind, int64_t idle_us, bool flag) {
    cudaStream_t stream = c_.stream(kSource);
    copy(bytes, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    if (kind == 0) std::this_thread::sleep_for(std::chrono::microseconds(idle_us));
    gate_.hold(kSource, stream);
    if (kind == 1) {
      spin<<<1, 1, 0, stream>>>(uint64_t(idle_us) * 1000 + random_() % 16'000);
      CUDA_CHECK(cudaGetLastError());
    }
    CUDA_CHECK(cudaEventRecord(begin_, stream));
    copy(bytes, stream);
    if (flag) write_flag(reinterpret_cast<uint32_t*>(c_.pool(kTarget)) + kFlagAt / 4, stream);
    CUDA_CHECK(cudaEventRecord(end_, stream));
    gate_.open();
    CUDA_CHECK(cudaStreamSynchronize(stream));
    if (gate_.gave_up()) {
      std::fprintf(stderr, "copy_after_idle: a gate gave up: nothing was enqueued in two seconds\n");
      std::exit(1);
    }
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e3;
  }

  void copy(int64_t bytes, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyPeerAsync(c_.pool(kTarget), kTarget, c_.pool(kSource), kSource, size_t(bytes), stream));
  }

  Collector& c_;
  std::mt19937 random_{1};
  HostGate gate_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_after_idle", kPoolBytes);
  if (!c.wants_peers("copy_after_idle")) return 0;
  Copier copier(c);
  for (const int64_t bytes : {int64_t{64} << 10, int64_t{1} << 20, int64_t{4} << 20, int64_t{16} << 20}) {
    for (const int64_t idle_us : {0, 1000, 10'000}) copier.bench(bytes, 0, idle_us);
    for (const int64_t idle_us : {100, 1000}) copier.bench(bytes, 1, idle_us);
  }
  for (const int64_t idle_us : {30'000, 50'000, 100'000, 200'000}) copier.bench(int64_t{64} << 10, 0, idle_us);
  return 0;
}
