#include "collective.hpp"
#include "cuda_check.hpp"

CopyLanes::CopyLanes(int gpus) : gpu_(size_t(gpus)) {
  for (int r = 0; r < gpus; ++r) {
    Gpu& g = gpu_[size_t(r)];
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaEventCreateWithFlags(&g.begin, cudaEventDisableTiming));
    for (int k = 2; k < gpus; ++k) {
      g.stream.emplace_back();
      g.end.emplace_back();
      CUDA_CHECK(cudaStreamCreateWithFlags(&g.stream.back(), cudaStreamNonBlocking));
      CUDA_CHECK(cudaEventCreateWithFlags(&g.end.back(), cudaEventDisableTiming));
    }
  }
}

CopyLanes::~CopyLanes() {
  for (size_t r = 0; r < gpu_.size(); ++r) {
    cudaSetDevice(int(r));
    cudaEventDestroy(gpu_[r].begin);
    for (cudaStream_t stream : gpu_[r].stream) cudaStreamDestroy(stream);
    for (cudaEvent_t end : gpu_[r].end) cudaEventDestroy(end);
  }
}

namespace {

class Copies : public Collective {
 public:
  Copies(const CollectiveMemory& memory, const CopyLanes& lanes, const CollectiveShape& shape, int streams)
      : Collective(memory, shape), lanes_(lanes), peers_(shape.gpus - 1), forks_(streams == 0 && peers_ > 1) {}

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    for (int r = 0; r < shape_.gpus; ++r) {
      const CopyLanes::Gpu& lanes = lanes_.of(r);
      const cudaStream_t own = streams[size_t(r)];
      CUDA_CHECK(cudaSetDevice(r));
      if (forks_) CUDA_CHECK(cudaEventRecord(lanes.begin, own));
      for (int k = 0; k < peers_; ++k) {
        const bool side = forks_ && k > 0;
        const cudaStream_t stream = side ? lanes.stream[size_t(k - 1)] : own;
        if (side) CUDA_CHECK(cudaStreamWaitEvent(stream, lanes.begin, 0));
        copy(r, (r + 1 + k) % shape_.gpus, stream);
        if (side) CUDA_CHECK(cudaEventRecord(lanes.end[size_t(k - 1)], stream));
      }
      for (int k = 1; forks_ && k < peers_; ++k) CUDA_CHECK(cudaStreamWaitEvent(own, lanes.end[size_t(k - 1)], 0));
    }
  }

 protected:
  bool moves_own_share() const override { return false; }

 private:
  void copy(int r, int p, cudaStream_t stream) {
    const bool gather = shape_.kind == Kind::all_gather;
    const int64_t bytes = gather ? shape_.bytes_per_rank : shape_.bytes_per_rank / shape_.gpus;
    const char* from = memory_.input(r) + (gather ? 0 : p * bytes);
    CUDA_CHECK(cudaMemcpyPeerAsync(memory_.output(p) + r * bytes, p, from, r, size_t(bytes), stream));
  }

  const CopyLanes& lanes_;
  const int peers_;
  const bool forks_;
};

}  // namespace

std::unique_ptr<Collective> make_copies(const CollectiveMemory& memory, const CopyLanes& lanes,
                                        const CollectiveShape& shape, int streams) {
  return std::make_unique<Copies>(memory, lanes, shape, streams);
}
