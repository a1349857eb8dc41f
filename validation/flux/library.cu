#include "cuda_check.hpp"
#include "library.hpp"
#include "nccl_check.hpp"

namespace {

class LibraryOperator : public Operator {
 public:
  LibraryOperator(const Case& c, const Operands& operands, const FusedMemory& memory, const NcclCommunicators* comms)
      : Operator(c, operands, memory), comms_(comms) {
    if (c.mode == Mode::reduce_scatter || c.mode == Mode::all_gather) return;
    ComputeShape shape;
    shape.name = kModeNames[size_t(c.mode)];
    shape.m = c.m;
    shape.n = c.n;
    shape.k = c.k;
    shape.b_by_column = true;
    gemm_ = Gemm::create(operands, shape, 0);
  }

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    if (case_.mode == Mode::ag_nccl || case_.mode == Mode::all_gather) {
      const size_t share = size_t(block_rows()) * size_t(case_.k);
      NCCL_CHECK(ncclGroupStart());
      for (int r = 0; r < gpus(); ++r)  // in place: each rank's rows are already in its output
        NCCL_CHECK(ncclAllGather(a(r) + share * size_t(r), a(r), share, ncclBfloat16, (*comms_)[size_t(r)],
                                 streams[size_t(r)]));
      NCCL_CHECK(ncclGroupEnd());
    }
    if (gemm_ != nullptr) gemm_->enqueue(streams);
    if (case_.mode == Mode::rs_nccl || case_.mode == Mode::reduce_scatter) {
      const size_t share = size_t(block_rows()) * size_t(case_.n);
      NCCL_CHECK(ncclGroupStart());
      for (int r = 0; r < gpus(); ++r)
        NCCL_CHECK(ncclReduceScatter(c(r), memory_.of(r).out, share, ncclBfloat16, ncclSum, (*comms_)[size_t(r)],
                                     streams[size_t(r)]));
      NCCL_CHECK(ncclGroupEnd());
    }
  }

 private:
  const NcclCommunicators* comms_;
  std::unique_ptr<Gemm> gemm_;
};

}  // namespace

std::unique_ptr<Operator> make_library_operator(const Case& c, const Operands& operands, const FusedMemory& memory,
                                                const NcclCommunicators* comms) {
  return std::make_unique<LibraryOperator>(c, operands, memory, comms);
}
