// The benchmark nccl_all_to_all: time of NCCL's grouped sends and receives, by bytes and by the limit on NCCL's
// workgroups.
#include <algorithm>
#include <cstdlib>

#include "cuda_check.hpp"
#include "harness.hpp"
#include "nccl_check.hpp"
#include "nccl_communicators.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{2} << 30;  // sends read the lower half, receives write the upper one

class AllToAll {
 public:
  AllToAll(Collector& c, int gpus, int max_ctas) : c_(c), gpus_(gpus), comms_(gpus, max_ctas) {
    begin_.resize(gpus);
    end_.resize(gpus);
    for (int r = 0; r < gpus; ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaEventCreate(&begin_[r]));
      CUDA_CHECK(cudaEventCreate(&end_[r]));
    }
  }
  ~AllToAll() {
    for (int r = 0; r < gpus_; ++r) {
      cudaSetDevice(r);
      cudaEventDestroy(begin_[r]);
      cudaEventDestroy(end_[r]);
    }
  }
  AllToAll(const AllToAll&) = delete;
  AllToAll& operator=(const AllToAll&) = delete;

  std::vector<double> measure(int64_t bytes) {
    // The first call of a size connects the GPUs and allocates memory. This must not happen while a gate holds the
    // GPUs.
    for (int i = 0; i < 2; ++i) {
      exchange(bytes);
      finish();
    }
    return repeat([&](int) {
      for (int r = 0; r < gpus_; ++r) {
        gate_.hold(r, c_.stream(r));
        CUDA_CHECK(cudaEventRecord(begin_[r], c_.stream(r)));
      }
      exchange(bytes);
      for (int r = 0; r < gpus_; ++r) {
        CUDA_CHECK(cudaSetDevice(r));
        CUDA_CHECK(cudaEventRecord(end_[r], c_.stream(r)));
      }
      gate_.open();
      finish();
      if (gate_.gave_up()) {
        std::fprintf(stderr, "nccl: a gate gave up: the exchange was not enqueued in two seconds\n");
        std::exit(1);
      }
      double slowest = 0;
      for (int r = 0; r < gpus_; ++r) {
        float ms = 0;
        CUDA_CHECK(cudaSetDevice(r));
        CUDA_CHECK(cudaEventElapsedTime(&ms, begin_[r], end_[r]));
        slowest = std::max(slowest, ms * 1e3);
      }
      return slowest;
    });
  }

 private:
  void exchange(int64_t bytes) {
    NCCL_CHECK(ncclGroupStart());
    for (int r = 0; r < gpus_; ++r) {
      const char* from = reinterpret_cast<const char*>(c_.pool(r));
      char* to = reinterpret_cast<char*>(c_.pool(r)) + kPoolBytes / 2;
      for (int p = 0; p < gpus_; ++p) {
        NCCL_CHECK(ncclSend(from + p * bytes, size_t(bytes), ncclChar, p, comms_[r], c_.stream(r)));
        NCCL_CHECK(ncclRecv(to + p * bytes, size_t(bytes), ncclChar, p, comms_[r], c_.stream(r)));
      }
    }
    NCCL_CHECK(ncclGroupEnd());
  }
  void finish() {
    for (int r = 0; r < gpus_; ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaStreamSynchronize(c_.stream(r)));
    }
  }

  Collector& c_;
  int gpus_;
  HostGate gate_;
  const NcclCommunicators comms_;
  std::vector<cudaEvent_t> begin_, end_;
};

}  // namespace

int main(int argc, char** argv) {
  nccl_without_multicast();
  Collector c(argc, argv, "nccl", kPoolBytes);
  if (!c.wants_peers("nccl_all_to_all")) return 0;
  for (int gpus = 2; gpus <= c.gpus(); gpus += std::max(1, c.gpus() - 2)) {
    for (const int max_ctas : {0, 4, 8, 16, 32}) {
      AllToAll all_to_all(c, gpus, max_ctas);
      for (int64_t bytes = 4096; bytes <= int64_t{64} << 20; bytes *= 4) {
        c.row("nccl_all_to_all", Parameters()("bytes", bytes)("gpus", gpus)("max_ctas", max_ctas), "time",
              all_to_all.measure(bytes), "us");
      }
      std::fprintf(stderr, "nccl: %d GPUs, at most %d workgroups: done\n", gpus, max_ctas);
    }
  }
  return 0;
}
