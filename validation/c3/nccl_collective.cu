#include <cstdlib>

#include "collective.hpp"
#include "nccl_check.hpp"
#include "nccl_communicators.hpp"

namespace {

class NcclCollective : public Collective {
 public:
  NcclCollective(const CollectiveMemory& memory, const CollectiveShape& shape, const NcclCommunicators& comms)
      : Collective(memory, shape), comms_(comms) {}

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    const size_t ranks = size_t(shape_.gpus);
    const size_t count = size_t(shape_.bytes_per_rank) / 2, share = count / ranks;
    NCCL_CHECK(ncclGroupStart());
    for (size_t r = 0; r < ranks; ++r) {
      const char* in = memory_.input(int(r));
      char* out = memory_.output(int(r));
      switch (shape_.kind) {
        case Kind::all_gather:
          NCCL_CHECK(ncclAllGather(in, out, count, ncclBfloat16, comms_[r], streams[r]));
          break;
        case Kind::all_to_all:
          for (size_t p = 0; p < ranks; ++p) {
            NCCL_CHECK(ncclSend(in + 2 * p * share, share, ncclBfloat16, int(p), comms_[r], streams[r]));
            NCCL_CHECK(ncclRecv(out + 2 * p * share, share, ncclBfloat16, int(p), comms_[r], streams[r]));
          }
          break;
        case Kind::all_reduce:
          NCCL_CHECK(ncclAllReduce(in, out, count, ncclBfloat16, ncclSum, comms_[r], streams[r]));
          break;
        case Kind::reduce_scatter:
          NCCL_CHECK(ncclReduceScatter(in, out, share, ncclBfloat16, ncclSum, comms_[r], streams[r]));
          break;
      }
    }
    NCCL_CHECK(ncclGroupEnd());
  }

 private:
  const NcclCommunicators& comms_;
};

class Group : public NcclGroup {
 public:
  Group(int gpus, int max_ctas) : comms_(gpus, max_ctas) {}

  std::unique_ptr<Collective> collective(const CollectiveMemory& memory, Kind kind, int64_t bytes_per_rank) override {
    return std::make_unique<NcclCollective>(memory, CollectiveShape{kind, bytes_per_rank, comms_.gpus()}, comms_);
  }

 private:
  const NcclCommunicators comms_;
};

}  // namespace

std::unique_ptr<NcclGroup> NcclGroup::create(int gpus, int max_ctas) { return std::make_unique<Group>(gpus, max_ctas); }

void NcclGroup::configure(bool direct) {
  nccl_without_multicast();
  // A capture into a graph (c3_kernels) must launch the same kernels as a call without a graph.
  setenv("NCCL_GRAPH_REGISTER", "0", 1);
  setenv("NCCL_P2P_DIRECT_DISABLE", direct ? "0" : "1", 1);
}

std::string NcclGroup::version() { return nccl_version(); }
