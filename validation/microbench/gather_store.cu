// The benchmark gather_store: gathers with stores between them, by share of stores and total bytes.
//
// Shows how a few writes slow down a memory that mostly reads. Before every run a kernel loads kCleanBytes of other data.
// These loads displace clean lines, but few of the lines that the run before has stored.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;  // rows in the lower half, stores into the upper
constexpr int64_t kCleanBytes = int64_t{256} << 20;
constexpr int kRowVectors = 32;  // of 16 bytes
constexpr int kUnroll = 8;
constexpr int kNumbers = 4096;  // row numbers of a WG, used repeatedly; the rows of all WGs together cover 1 GiB
constexpr int kBatchRows = kThreads / kRowVectors * kUnroll;
constexpr int kBatchBytes = kBatchRows * kRowVectors * 16;

// Each WG runs `tasks` tasks. In a task it reads `batches` batches of rows; then every thread stores `stores` vectors
// to new, contiguous addresses. If `side_by_side` is true, the outputs of all WGs' k-th tasks are adjacent, as in a
// grid whose WGs write in their order. Otherwise the outputs of one WG's tasks are adjacent.
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    gather_store_kernel(const float4* pool, uint32_t rows, float4* to, int tasks, int batches, int stores,
                        bool side_by_side, uint32_t seed, WgStamp* stamps) {
  __shared__ int numbers[kNumbers];
  for (uint32_t i = threadIdx.x; i < kNumbers; i += kThreads)
    numbers[i] = int(__umulhi(hash32((blockIdx.x * kNumbers + i) ^ (seed * 0x01000193U)), rows));
  __syncthreads();
  const uint64_t start = global_ns();
  const int* mine = numbers + int(threadIdx.x) / kRowVectors * (kNumbers / (kThreads / kRowVectors));
  const int column = int(threadIdx.x) % kRowVectors;
  to += int64_t(blockIdx.x) * stores * kThreads * (side_by_side ? 1 : tasks) + threadIdx.x;
  // distance from the end of a task's output to the output of the WG's next task
  const int64_t on = side_by_side ? int64_t(gridDim.x - 1) * stores * kThreads : 0;
  int row = 0;
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int task = 0; task < tasks; ++task) {
#pragma unroll 1
    for (int batch = 0; batch < batches; ++batch) {
      float4 piece[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(pool + int64_t(mine[row + u]) * kRowVectors + column);
      row = (row + kUnroll) % (kNumbers / (kThreads / kRowVectors));
      add_batch(sum, piece);
    }
#pragma unroll 1
    for (int i = 0; i < stores; ++i, to += kThreads) *to = sum;
    to += on;
  }
  if (stores == 0) *to = sum;
  stamp(stamps, start);
}

__global__ void __launch_bounds__(kThreads) clean_kernel(const float4* from, int64_t vectors, float* sink) {
  float4 sum = make_float4(0, 0, 0, 0);
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < vectors; i += int64_t(gridDim.x) * kThreads) {
    const float4 v = load_streaming(from + i);
    sum.x += v.x + v.y + v.z + v.w;
  }
  keep(sum, sink);
}

void bench_case(Collector& c, int64_t gathered, int batches, int stores, bool side_by_side = false) {
  constexpr int kPerSm = 4;
  const int wgs = c.sms() * kPerSm;
  const int64_t half = kPoolBytes / 2;
  const int64_t tasks = gathered / (int64_t{kBatchBytes} * batches * wgs);
  const int64_t stored = tasks * stores * kThreads * 16 * wgs;
  if (tasks == 0 || stored > half - kCleanBytes) return;
  const double bytes = double(tasks) * batches * kBatchBytes * wgs;
  const std::vector<double> time = repeat([&](int i) {
    // Every repetition stores to other addresses.
    const int64_t places = std::max<int64_t>(1, (half - kCleanBytes) / std::max<int64_t>(1, stored));
    float4* to = c.pool(0) + (half + i % places * stored) / 16;
    clean_kernel<<<wgs, kThreads>>>(c.pool(0) + (kPoolBytes - kCleanBytes) / 16, kCleanBytes / 16, c.sink(0));
    gather_store_kernel<<<wgs, kThreads>>>(c.pool(0), uint32_t(half / (kRowVectors * 16)), to, int(tasks), batches,
                                           stores, side_by_side, uint32_t(i * 7919 + batches * 131 + stores),
                                           c.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    return c.span(0, wgs).ns / 1e3;
  });
  c.row("gather_store",
        Parameters()("row_bytes", kRowVectors * 16)("wgs", wgs)("wgs_per_sm", kPerSm)("in_flight_bytes", kBatchBytes)(
            "gather_bytes", int64_t{kBatchBytes} * batches)("store_bytes", int64_t{stores} * kThreads * 16)(
            "side_by_side", side_by_side)("tasks", tasks),
        "time", time, "us");
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "gather_store", kPoolBytes);
  if (!c.wants("gather_store")) return 0;
  for (const int64_t mib : {128, 256, 512, 1024, 2048}) {
    bench_case(c, mib << 20, 4, 0);
    for (const int batches : {1, 2, 4, 8, 16, 32}) bench_case(c, mib << 20, batches, 2);  // 8 KiB
    bench_case(c, mib << 20, 1, 4);
    bench_case(c, mib << 20, 1, 8);
    for (const int batches : {2, 8, 32}) bench_case(c, mib << 20, batches, 2, true);
  }
  return 0;
}
