// The benchmark copy_host: copies between GPUs and pinned memory of the host. GPUs 0, 1, ... copy into the memory, GPUs
// from in_first on copy out of it, each on a stream of its own and in a buffer of its own, one copy behind the other. A
// gate holds all streams until all copies are enqueued. The rate of a stream is that of its middle copies: as many run
// before them as a quarter of these, and twice as many after them, so that all streams are busy.
#include <cstring>

#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kBuffer = 256 * kMib;
constexpr int64_t kPoolBytes = 2 * kBuffer;  // for copies out of the GPU, and into it

struct Stream {
  int gpu = 0;
  bool out = false;
  char* host = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
};

class Host {
 public:
  explicit Host(Collector& c) : c_(c) {
    for (int gpu = 0; gpu < c.gpus(); ++gpu) {
      for (const bool out : {true, false}) {
        Stream& made = streams_.emplace_back();
        made.gpu = gpu;
        made.out = out;
        CUDA_CHECK(cudaSetDevice(gpu));
        CUDA_CHECK(cudaHostAlloc(&made.host, size_t(kBuffer), cudaHostAllocPortable));
        std::memset(made.host, gpu + 1, size_t(kBuffer));
        CUDA_CHECK(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
        CUDA_CHECK(cudaEventCreate(&made.begin));
        CUDA_CHECK(cudaEventCreate(&made.end));
      }
    }
  }
  ~Host() {
    for (const Stream& s : streams_) {
      cudaSetDevice(s.gpu);
      cudaStreamDestroy(s.stream);
      cudaEventDestroy(s.begin);
      cudaEventDestroy(s.end);
      cudaFreeHost(s.host);
    }
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // `footprint`: bytes of the host's memory that each stream uses again and again.
  void bench(int64_t bytes, int copies, int64_t footprint, int out, int in, int in_first) {
    std::vector<double> rates[2];
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      std::vector<Stream*> used;
      for (Stream& s : streams_)
        if (s.out ? s.gpu < out : s.gpu >= in_first && s.gpu < in_first + in) used.push_back(&s);
      for (Stream* s : used) enqueue(*s, bytes, copies, footprint);
      gate_.open();
      double sum[2] = {};
      for (Stream* s : used) {
        CUDA_CHECK(cudaSetDevice(s->gpu));
        CUDA_CHECK(cudaStreamSynchronize(s->stream));
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, s->begin, s->end));
        sum[s->out ? 0 : 1] += double(bytes) * copies / ms / 1e6;
      }
      if (gate_.gave_up()) {
        std::fprintf(stderr, "copy_host: a gate gave up: copies were not enqueued in two seconds\n");
        std::exit(1);
      }
      if (i < kWarmups) continue;
      if (out > 0) rates[0].push_back(sum[0] / out);
      if (in > 0) rates[1].push_back(sum[1] / in);
    }
    const Parameters p = Parameters()("bytes", bytes)("copies", copies)("footprint_bytes", footprint)("out", out)(
        "in", in)("in_first", in_first);
    if (out > 0) c_.row("copy_host", p, "out_bandwidth", rates[0], "GB/s");
    if (in > 0) c_.row("copy_host", p, "in_bandwidth", rates[1], "GB/s");
  }

 private:
  void enqueue(const Stream& s, int64_t bytes, int copies, int64_t footprint) {
    gate_.hold(s.gpu, s.stream);
    const int before = copies / 4, after = 2 * copies;
    for (int k = 0; k < before + copies + after; ++k) {
      if (k == before) CUDA_CHECK(cudaEventRecord(s.begin, s.stream));
      if (k == before + copies) CUDA_CHECK(cudaEventRecord(s.end, s.stream));
      const int64_t at = k % (footprint / bytes) * bytes;
      char* const device = reinterpret_cast<char*>(c_.pool(s.gpu)) + (s.out ? 0 : kBuffer) + at;
      CUDA_CHECK(cudaMemcpyAsync(s.out ? s.host + at : device, s.out ? device : s.host + at, size_t(bytes),
                                 s.out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, s.stream));
    }
  }

  Collector& c_;
  HostGate gate_;
  std::vector<Stream> streams_;
};

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_host", kPoolBytes);
  if (!c.wants("copy_host")) return 0;
  Host host(c);
  struct Case {
    int out, in, in_first;
  };
  // A GPU alone; several in one direction; each in both directions; chains, in which each GPU copies for the next one.
  std::vector<Case> cases{{1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
  for (int gpus = 2; gpus <= c.gpus(); ++gpus) {
    cases.push_back({gpus, 0, 0});
    cases.push_back({0, gpus, 0});
    cases.push_back({gpus, gpus, 0});
    cases.push_back({gpus - 1, gpus - 1, 1});
  }
  if (c.gpus() >= 4) cases.push_back({2, 2, 2});
  for (const int64_t bytes : {kMib / 4, kMib, 4 * kMib, 64 * kMib})
    for (const Case& one : cases) host.bench(bytes, bytes > kMib ? 8 : 32, kBuffer, one.out, one.in, one.in_first);
  // Less of the memory, which the host's caches may hold.
  for (const int64_t footprint : {2 * kMib, 4 * kMib, 8 * kMib, 16 * kMib, 32 * kMib, 64 * kMib, 128 * kMib})
    for (const Case& one : cases)
      if (footprint == 4 * kMib || (one.out + one.in >= c.gpus() && one.in_first == 0))
        host.bench(kMib, 128, footprint, one.out, one.in, one.in_first);
  return 0;
}
