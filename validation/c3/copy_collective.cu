#include "collective.hpp"
#include "cuda_check.hpp"

namespace {

class Copies : public Collective {
 public:
  Copies(const CollectiveMemory& memory, const CollectiveShape& shape, int streams)
      : Collective(memory, shape), peers_(shape.gpus - 1), forks_(streams == 0 && peers_ > 1), lanes_(shape.gpus) {
    if (!forks_) return;
    for (int r = 0; r < shape.gpus; ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaEventCreateWithFlags(&lanes_[r].begin, cudaEventDisableTiming));
      // The first peer's copy stays on the caller's stream.
      for (int k = 1; k < peers_; ++k) {
        lanes_[r].stream.emplace_back();
        lanes_[r].end.emplace_back();
        CUDA_CHECK(cudaStreamCreateWithFlags(&lanes_[r].stream.back(), cudaStreamNonBlocking));
        CUDA_CHECK(cudaEventCreateWithFlags(&lanes_[r].end.back(), cudaEventDisableTiming));
      }
    }
  }
  ~Copies() override {
    for (size_t r = 0; r < lanes_.size(); ++r) {
      cudaSetDevice(int(r));
      if (lanes_[r].begin != nullptr) cudaEventDestroy(lanes_[r].begin);
      for (cudaStream_t stream : lanes_[r].stream) cudaStreamDestroy(stream);
      for (cudaEvent_t end : lanes_[r].end) cudaEventDestroy(end);
    }
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    for (int r = 0; r < shape_.gpus; ++r) {
      Lanes& lanes = lanes_[r];
      CUDA_CHECK(cudaSetDevice(r));
      if (forks_) CUDA_CHECK(cudaEventRecord(lanes.begin, streams[r]));
      for (int k = 0; k < peers_; ++k) {
        const bool side = forks_ && k > 0;
        const cudaStream_t stream = side ? lanes.stream[k - 1] : streams[r];
        if (side) CUDA_CHECK(cudaStreamWaitEvent(stream, lanes.begin, 0));
        copy(r, (r + 1 + k) % shape_.gpus, stream);
        if (side) CUDA_CHECK(cudaEventRecord(lanes.end[k - 1], stream));
      }
      if (!forks_) continue;
      for (cudaEvent_t end : lanes.end) CUDA_CHECK(cudaStreamWaitEvent(streams[r], end, 0));
    }
  }

 protected:
  bool moves_own_share() const override { return false; }

 private:
  struct Lanes {
    cudaEvent_t begin = nullptr;
    std::vector<cudaStream_t> stream;
    std::vector<cudaEvent_t> end;
  };

  void copy(int r, int p, cudaStream_t stream) {
    const bool gather = shape_.kind == Kind::all_gather;
    const int64_t bytes = gather ? shape_.bytes_per_rank : shape_.bytes_per_rank / shape_.gpus;
    const char* from = memory_.input(r) + (gather ? 0 : p * bytes);
    CUDA_CHECK(cudaMemcpyPeerAsync(memory_.output(p) + r * bytes, p, from, r, size_t(bytes), stream));
  }

  const int peers_;
  const bool forks_;
  std::vector<Lanes> lanes_;
};

}  // namespace

std::unique_ptr<Collective> make_copies(const CollectiveMemory& memory, const CollectiveShape& shape, int streams) {
  return std::make_unique<Copies>(memory, shape, streams);
}
