// The benchmark peer_stride: stores to the next GPU in runs of bytes that begin a fixed distance apart, as rows that
// are stored into a part of the columns of a wider matrix. Links take turns in the addresses, so some distances use
// them unevenly.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;
constexpr int64_t kStored = int64_t{64} << 20;
constexpr int kPieceBytes = 512, kPieceVectors = kPieceBytes / 16, kPerSm = 4;

// Each warp stores a piece at a time; the warps of the grid take the pieces in turn. A run has `run_vectors` vectors of
// 16 bytes, which are several pieces or a part of one.
__global__ void __launch_bounds__(kThreads)
    strided_kernel(float4* to, int64_t pieces, int run_vectors, int64_t stride_vectors, WgStamp* stamps) {
  const uint64_t start = global_ns();
  const int warps = kThreads / 32;
  const float4 value = make_float4(float(threadIdx.x), 1.0F, 2.0F, float(blockIdx.x));
  for (int64_t p = int64_t(blockIdx.x) * warps + threadIdx.x / 32; p < pieces; p += int64_t(gridDim.x) * warps) {
    const int64_t vector = p * kPieceVectors + threadIdx.x % 32;
    to[vector / run_vectors * stride_vectors + vector % run_vectors] = value;
  }
  fence_sys();
  stamp(stamps, start);
}

void bench(Collector& c, int run_bytes, int64_t stride_bytes) {
  const int64_t runs = std::min(kStored / run_bytes, kPoolBytes / stride_bytes);
  const int wgs = c.sms() * kPerSm;
  const int64_t pieces = runs * run_bytes / kPieceBytes;
  const std::vector<double> bandwidth = repeat([&](int) {
    strided_kernel<<<wgs, kThreads, 0, c.stream(0)>>>(c.pool(1), pieces, run_bytes / 16, stride_bytes / 16,
                                                      c.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    return double(pieces) * kPieceBytes / c.span(0, wgs).ns;
  });
  c.row("peer_stride", Parameters()("run_bytes", run_bytes)("stride_bytes", stride_bytes), "bandwidth", bandwidth,
        "GB/s");
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "peer_stride", kPoolBytes);
  if (!c.wants_peers("peer_stride")) return 0;
  for (const int pieces :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 24, 28, 30, 32, 36, 40, 48, 56, 64, 72, 96, 192})
    bench(c, kPieceBytes, int64_t{kPieceBytes} * pieces);
  for (const int pieces : {2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32}) bench(c, kPieceBytes * pieces, 24576);
  for (const int64_t stride : {12288, 16384}) {
    for (const int pieces : {4, 8, 16}) bench(c, kPieceBytes * pieces, stride);
  }
  for (const int run_bytes : {16, 32, 64, 96, 128, 160, 192, 256, 384}) bench(c, run_bytes, 1024);
  for (const int run_bytes : {32, 64, 128, 256}) bench(c, run_bytes, 2 * run_bytes);
  for (const int run_bytes : {64, 128, 256}) bench(c, run_bytes, 6144);
  return 0;
}
