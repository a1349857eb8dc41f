// The benchmark gather_length: gathers and stores by grids of different lengths. They go from WGs that fill the GPU
// once and read few batches to as many short WGs as real kernels have. The curves separate the fixed cost of a kernel,
// the cost per byte, and the time in which only its last WGs still work. In a grid that fills the GPU once, all WGs
// have the same work, but some SMs are slower than others.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{12} << 30;  // rows are in the lower 8 GiB, stores go above them
constexpr int64_t kRowBytes = int64_t{8} << 30;
constexpr int64_t kCleanBytes = int64_t{256} << 20;
constexpr int kUnroll = 8, kPerSm = 4;
constexpr int kNumbers = 4096;  // row numbers of a WG, used repeatedly, each time mapped to other rows
constexpr int kBatchBytes = kThreads * kUnroll * 16;

// Each WG reads `batches` batches of rows, and then every thread stores `stores` 16-byte vectors.
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    gather_length_kernel(const float4* pool, uint32_t rows, int row_vectors, int batches, float4* to, int stores,
                         uint32_t seed, float* sink, WgStamp* stamps) {
  __shared__ int numbers[kNumbers];
  const int groups = kThreads / row_vectors;
  const int rows_of_group = min(kNumbers / groups, batches * kUnroll);
  for (uint32_t i = threadIdx.x; i < uint32_t(groups * rows_of_group); i += kThreads)
    numbers[i] = int(__umulhi(hash32((blockIdx.x * kNumbers + i) ^ (seed * 0x01000193U)), rows));
  __syncthreads();
  const uint64_t start = global_ns();
  const int* mine = numbers + int(threadIdx.x) / row_vectors * rows_of_group;
  const int column = int(threadIdx.x) % row_vectors;
  int row = 0;
  uint32_t turn = 0, other = 0;  // `other` maps row numbers to other rows; `rows` is a power of two
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int batch = 0; batch < batches; ++batch) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      piece[u] = load_streaming(pool + int64_t(mine[row + u] ^ other) * row_vectors + column);
    row += kUnroll;
    if (row == rows_of_group) {
      row = 0;
      other = hash32(++turn) & (rows - 1);
    }
    add_batch(sum, piece);
  }
  to += int64_t(blockIdx.x) * stores * kThreads + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < stores; ++i, to += kThreads) *to = sum;
  keep(sum, sink);
  stamp(stamps, start);
}

__global__ void clean_kernel(const float4* from, int64_t vectors, float* sink) {
  float4 sum = make_float4(0, 0, 0, 0);
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < vectors; i += int64_t(gridDim.x) * kThreads) {
    const float4 v = load_streaming(from + i);
    sum.x += v.x + v.y + v.z + v.w;
  }
  keep(sum, sink);
}

// Measures one case with `wgs` WGs, of which `per_sm` fit on an SM at the same time.
void bench_case(Collector& c, int row_bytes, int64_t footprint, int wgs, int per_sm, int batches, int stores) {
  const int64_t stored = int64_t{wgs} * stores * kThreads * 16;
  const int64_t room = kPoolBytes - kRowBytes - kCleanBytes;
  if (stored > room) return;
  std::vector<double> mean_end;
  const std::vector<double> time = repeat([&](int i) {
    // Every repetition stores to other addresses.
    float4* to = c.pool(0) + (kRowBytes + i % std::max<int64_t>(1, room / std::max<int64_t>(1, stored)) * stored) / 16;
    clean_kernel<<<c.sms() * 4, kThreads>>>(c.pool(0) + (kPoolBytes - kCleanBytes) / 16, kCleanBytes / 16, c.sink(0));
    gather_length_kernel<<<wgs, kThreads>>>(c.pool(0), uint32_t(footprint / row_bytes), row_bytes / 16, batches, to,
                                            stores, uint32_t(i * 7919 + batches * 131 + wgs), c.sink(0), c.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    const Span all = span_of(c.read(0, wgs));
    if (i >= kWarmups) mean_end.push_back(all.mean_wg_ns / 1e3);
    return all.ns / 1e3;
  });
  const Parameters p = Parameters()("row_bytes", row_bytes)("footprint_bytes", footprint)("wgs", wgs)(
      "wgs_per_sm", per_sm)("in_flight_bytes", kBatchBytes)("gather_bytes", int64_t{kBatchBytes} * batches)(
      "store_bytes", int64_t{stores} * kThreads * 16);
  c.row("gather_length", p, "time", time, "us");
  c.row("gather_length", p, "wg_time", mean_end, "us");
}

constexpr int64_t kMib = int64_t{1} << 20;

void bench_all(Collector& c) {
  // Grids that fill the GPU exactly once.
  for (const int per_sm : {1, kPerSm}) {
    for (const int batches : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
      bench_case(c, 512, 1024 * kMib, c.sms() * per_sm, per_sm, batches, 0);
      for (const int row_bytes : {128, 256, 512, 2048})
        bench_case(c, row_bytes, 8192 * kMib, c.sms() * per_sm, per_sm, batches, 0);
      for (const int stores : {2, 8})
        bench_case(c, 512, 8192 * kMib, c.sms() * per_sm, per_sm, batches, stores);
    }
  }
  // Grids of many short WGs.
  for (const int64_t mib : {16, 64, 256, 1024}) {
    for (const int batches : {1, 4, 16}) {
      const int wgs = int(mib * kMib / kBatchBytes / batches);
      if (wgs > c.sms() * 256) continue;  // the harness has no stamps for more WGs
      for (const int row_bytes : {128, 256, 512, 2048}) bench_case(c, row_bytes, 8192 * kMib, wgs, kPerSm, batches, 0);
      for (const int stores : {2, 4, 8}) bench_case(c, 512, 8192 * kMib, wgs, kPerSm, batches, stores);
      bench_case(c, 512, 1024 * kMib, wgs, kPerSm, batches, 0);
    }
  }
}

// Rows of 32 and 64 B, which the number of rows limits and not the number of bytes.
void bench_short_rows(Collector& c) {
  for (const int row_bytes : {32, 64}) {
    for (const int batches : {1, 4, 16, 64})
      bench_case(c, row_bytes, 8192 * kMib, c.sms() * kPerSm, kPerSm, batches, 0);
    for (const int64_t mib : {16, 64, 256, 1024})
      for (const int batches : {1, 2, 4, 16})
        if (const int wgs = int(mib * kMib / kBatchBytes / batches); wgs <= c.sms() * 256)
          bench_case(c, row_bytes, 8192 * kMib, wgs, kPerSm, batches, 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "gather_length", kPoolBytes);
  if (c.wants("gather_length")) bench_all(c);
  if (c.wants("gather_length_short")) bench_short_rows(c);
  return 0;
}
