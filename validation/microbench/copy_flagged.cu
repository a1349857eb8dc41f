// The benchmark copy_flagged: copies of one stream, with a command of the stream after each copy that writes a flag for
// waiting kernels. The stream, the targets and the flag are on GPU 0, the sources on GPU 1. A gate holds the stream until
// all operations are enqueued. The time is that between two events of the stream.
#include "cuda_check.hpp"
#include "harness.hpp"
#include "tensor_map.hpp"

namespace {

constexpr int kRuns = 31;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kPoolBytes = 1024 * kMib + 4096;  // up to 16 copies, and the flag
constexpr int64_t kSizes[] = {kMib / 16, kMib, 4 * kMib, 16 * kMib, 64 * kMib};

class Pull {
 public:
  explicit Pull(Collector& c) : c_(c) {
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaEventCreate(&begin_));
    CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Pull() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Pull(const Pull&) = delete;
  Pull& operator=(const Pull&) = delete;

  void bench(int copies, int64_t bytes) {
    const std::vector<double> time = repeat([&](int) { return once(copies, bytes); }, kRuns);
    c_.row("copy_flagged", Parameters()("bytes", bytes)("copies", copies), "time", time, "us");
  }

 private:
  double once(int copies, int64_t bytes) {
    cudaStream_t stream = c_.stream(0);
    gate_.hold(0, stream);
    CUDA_CHECK(cudaEventRecord(begin_, stream));
    for (int k = 0; k < copies; ++k) {
      CUDA_CHECK(cudaMemcpyPeerAsync(pool(0) + k * bytes, 0, pool(1) + k * bytes, 1, size_t(bytes), stream));
      write_flag(pool(0) + kPoolBytes - 4096, stream);
    }
    CUDA_CHECK(cudaEventRecord(end_, stream));
    gate_.open();
    CUDA_CHECK(cudaStreamSynchronize(stream));
    if (gate_.gave_up()) {
      std::fprintf(stderr, "copy_flagged: a gate gave up: nothing was enqueued in two seconds\n");
      std::exit(1);
    }
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e3;
  }

  char* pool(int gpu) { return reinterpret_cast<char*>(c_.pool(gpu)); }

  static void write_flag(char* flag, cudaStream_t stream) {
    using Write = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    static const auto write = reinterpret_cast<Write>(driver_function("cuStreamWriteValue32", 12000));
    const CUresult status = write(stream, reinterpret_cast<CUdeviceptr>(flag), 1, 0);
    if (status == CUDA_SUCCESS) return;
    std::fprintf(stderr, "cuStreamWriteValue32: status %d\n", static_cast<int>(status));
    std::exit(1);
  }

  Collector& c_;
  HostGate gate_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_flagged", kPoolBytes);
  if (!c.wants_peers("copy_flagged")) return 0;
  Pull pull(c);
  for (const int64_t bytes : kSizes)
    for (const int copies : {1, 2, 4, 8, 16}) pull.bench(copies, bytes);
  return 0;
}
