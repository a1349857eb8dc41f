#include <algorithm>

#include "cuda_check.hpp"
#include "fused.hpp"
#include "kernels.hpp"
#include "stream_flag.hpp"
#include "tensor_map.hpp"

namespace {

constexpr int kReducers = 132;  // workgroups of the reduction

class FusedOperator : public Operator {
 public:
  FusedOperator(const Case& c, const Operands& operands, const FusedMemory& memory) : Operator(c, operands, memory) {
    for (int r = 0; r < gpus(); ++r) arguments_.push_back(arguments(r));
  }

  void prepare() override {
    const TileOrder& order = arguments_[0].order;
    for (int r = 0; r < gpus(); ++r) {
      const FusedMemory::Gpu& g = memory_.of(r);
      CUDA_CHECK(cudaSetDevice(r));
      if (case_.mode == Mode::reduce) {
        const std::vector<uint32_t> full(size_t(order.tiles()), uint32_t(gpus()));
        CUDA_CHECK(cudaMemcpy(g.counters, full.data(), sizeof(uint32_t) * full.size(), cudaMemcpyHostToDevice));
      } else {
        CUDA_CHECK(cudaMemset(g.counters, 0, sizeof(uint32_t) * size_t(order.tiles())));
      }
      CUDA_CHECK(cudaMemset(g.flags, 0, sizeof(uint32_t) * size_t(gpus() * case_.chunks)));
      if (case_.mode == Mode::rs_add) CUDA_CHECK(cudaMemset(g.out, 0, size_t(block_rows()) * size_t(case_.n) * 2));
    }
    for (int r = 0; r < gpus(); ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaDeviceSynchronize());
    }
  }

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    for (int r = 0; r < gpus(); ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      if (case_.mode == Mode::ag_copy) push_beside(r, streams[size_t(r)]);
      if (case_.mode == Mode::copies) push(r, streams[size_t(r)]);
      if (case_.mode != Mode::copies && case_.mode != Mode::reduce)
        launch_gemm(way(), recorder_ != nullptr, arguments_[size_t(r)], workgroups(), streams[size_t(r)]);
      if (way() == Way::store) launch_reduce(reduction(r), kReducers, streams[size_t(r)]);
    }
  }

  int workgroups() const override {
    return std::min(arguments_[0].order.tiles() + arguments_[0].pushers, memory_.of(0).sms);
  }

  void record(moire_record::Recorder* recorder) override {
    recorder_ = recorder;
    for (int r = 0; recorder != nullptr && r < gpus(); ++r) arguments_[size_t(r)].log = recorder->log(r);
  }

  moire_record::Kernel description() const override {
    moire_record::Kernel kernel;
    kernel.name = to_owners() ? "gemm_reduce_scatter" : way() == Way::gather ? "all_gather_gemm" : "gemm";
    describe_gemm(way(), kernel);
    return kernel;
  }

 private:
  Way way() const {
    switch (case_.mode) {
      case Mode::rs_store:
      case Mode::rs_store_late:
      case Mode::reduce:
        return Way::store;
      case Mode::rs_add:
        return Way::add;
      case Mode::ag_copy:
      case Mode::ag_push:
      case Mode::copies:
        return Way::gather;
      default:
        return Way::local;
    }
  }

  bool to_owners() const { return way() == Way::store || way() == Way::add; }

  GemmArguments arguments(int rank) const {
    const FusedMemory::Gpu& own = memory_.of(rank);
    GemmArguments args{};
    args.a = tensor_map(a(rank), case_.m, case_.k, case_.k, kTileRows, kTileDepth);
    args.b = tensor_map(b(rank), case_.n, case_.k, case_.k, kTileColumns, kTileDepth);
    args.m = case_.m;
    args.n = case_.n;
    args.k = case_.k;
    args.rank = rank;
    args.ranks = gpus();
    args.block_rows = block_rows();
    args.store_rows = 64;
    while (to_owners() && args.block_rows % args.store_rows != 0) args.store_rows /= 2;
    // In a reduce-scatter, a GPU computes the rows of the next rank first and its own rows last. In an all-gather, it
    // computes its own rows first, then those of the other ranks in the order in which they arrive.
    const int begin_at = !case_.swizzle ? 0 : to_owners() ? (rank + 1) % gpus() : way() == Way::gather ? rank : 0;
    args.order = tile_order(case_.m, case_.n, gpus(), begin_at);
    if (way() == Way::local) args.order = tile_order(case_.m, case_.n, case_.chunks, 0);
    const int64_t share = int64_t{args.block_rows} * case_.n;
    if (!to_owners()) args.c[0] = tensor_map(c(rank), case_.m, case_.n, case_.n, args.store_rows, 64);
    for (int p = 0; p < gpus(); ++p) {
      const FusedMemory::Gpu& owner = memory_.of(p);
      if (to_owners()) {
        const __nv_bfloat16* rows = way() == Way::store ? owner.parts + rank * share : owner.out;
        args.c[p] = tensor_map(rows, args.block_rows, case_.n, case_.n, args.store_rows, 64);
      }
      args.counter[p] = owner.counters;
      args.peer_a[p] = a(p);
      args.peer_flags[p] = owner.flags;
    }
    const int first = rank * args.block_rows / kTileRows;
    const int last = ((rank + 1) * args.block_rows - 1) / kTileRows;
    args.expected = uint32_t((last - first + 1) * args.order.columns * gpus());
    args.late = case_.mode == Mode::rs_store_late;
    args.flags = own.flags;
    args.chunk_rows = args.block_rows / case_.chunks;
    args.pushers = case_.mode == Mode::ag_push ? kPushers : 0;
    args.flag_value = args.pushers > 0 ? uint32_t(kPushers) : 1;
    args.own_a = a(rank);
    args.gave_up = own.gave_up;
    args.clock = own.clock;
    return args;
  }

  ReduceArguments reduction(int rank) const {
    const GemmArguments& gemm = arguments_[size_t(rank)];
    const FusedMemory::Gpu& own = memory_.of(rank);
    return {own.parts, own.out, own.counters, case_.n, rank, gpus(), gemm.block_rows, gemm.order, own.gave_up};
  }

  // Enqueues push() on a second stream, which begins when `stream` reaches this point.
  void push_beside(int rank, cudaStream_t stream) {
    const FusedMemory::Gpu& own = memory_.of(rank);
    CUDA_CHECK(cudaEventRecord(own.begin, stream));
    CUDA_CHECK(cudaStreamWaitEvent(own.copies, own.begin, 0));
    push(rank, own.copies);
  }

  // Enqueues the copies of the rank's rows of A to all other ranks, from the previous rank around the ring, which needs
  // these rows first. Sets a flag at the receiver after each chunk. A copy by an engine must start at its source: if a
  // rank copies rows of other GPUs to itself, the engines of those GPUs copy, in the order in which the host enqueued
  // the copies of all ranks, and a copy that waits for the one before it in its stream blocks the engine.
  void push(int rank, cudaStream_t stream) {
    const int64_t elements = int64_t{block_rows() / case_.chunks} * case_.k;
    for (int p = 1; p < gpus(); ++p) {
      const int peer = (rank + gpus() - p) % gpus();
      for (int chunk = rank * case_.chunks; chunk < (rank + 1) * case_.chunks; ++chunk) {
        CUDA_CHECK(cudaMemcpyPeerAsync(a(peer) + chunk * elements, peer, a(rank) + chunk * elements, rank,
                                       size_t(elements) * 2, stream));
        write_flag(memory_.of(peer).flags + chunk, stream);
      }
    }
  }

  std::vector<GemmArguments> arguments_;
  moire_record::Recorder* recorder_ = nullptr;
};

}  // namespace

std::unique_ptr<Operator> make_fused_operator(const Case& c, const Operands& operands, const FusedMemory& memory) {
  return std::make_unique<FusedOperator>(c, operands, memory);
}
