// The benchmark gather: bandwidth of reading batches of random rows, by bytes in flight, WGs per SM, row size and
// footprint (the size of the table).
#include <algorithm>
#include <map>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;
constexpr int kRowsPerWg = 4096;  // 128 KiB of rows of 32 bytes, 4 MiB of rows of 1024 bytes

// Each WG reads kRowsPerWg random rows. A group of row_vectors threads reads one row at a time, and requests kUnroll
// rows before it uses the first one. The row numbers are in shared memory before the clock starts, so that only rows
// are read from memory and no arithmetic separates the loads of a batch.
template <int kUnroll>
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    gather_kernel(const float4* pool, uint32_t rows, int row_vectors, uint32_t seed, float* sink, WgStamp* stamps) {
  __shared__ int numbers[kRowsPerWg];
  for (uint32_t i = threadIdx.x; i < kRowsPerWg; i += kThreads)
    numbers[i] = int(__umulhi(hash32((blockIdx.x * kRowsPerWg + i) ^ (seed * 0x01000193U)), rows));
  __syncthreads();
  const uint64_t start = global_ns();
  const int rows_per_group = kRowsPerWg / (kThreads / row_vectors);
  const int* mine = numbers + int(threadIdx.x) / row_vectors * rows_per_group;
  const int column = int(threadIdx.x) % row_vectors;
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1  // if the compiler unrolled it further, the bytes in flight would change
  for (int i = 0; i < rows_per_group; i += kUnroll) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(pool + int64_t(mine[i + u]) * row_vectors + column);
    add_batch(sum, piece);
  }
  keep(sum, sink);
  stamp(stamps, start);
}

using Kernel = void (*)(const float4*, uint32_t, int, uint32_t, float*, WgStamp*);
Kernel gather(int unroll) {
  switch (unroll) {
    case 1:
      return gather_kernel<1>;
    case 2:
      return gather_kernel<2>;
    case 4:
      return gather_kernel<4>;
    case 8:
      return gather_kernel<8>;
    default:
      return gather_kernel<16>;
  }
}

void bench_case(Collector& c, int row_bytes, int wgs, int per_sm, int unroll, int64_t footprint) {
  const Kernel kernel = gather(unroll);
  int occupancy = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy, kernel, kThreads, 0));
  if (per_sm > occupancy) return;
  const double bytes = double(kRowsPerWg) * row_bytes * wgs;
  std::vector<double> per_wg;
  int most_on_one_sm = 0;
  const std::vector<double> total = repeat([&](int i) {
    kernel<<<wgs, kThreads>>>(c.pool(0), uint32_t(footprint / row_bytes), row_bytes / 16,
                              uint32_t(i * 7919 + unroll * 131 + wgs), c.sink(0), c.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    // An idle GPU spreads WGs evenly over its SMs by itself, which is checked here. Using shared memory to force it
    // would take space from the L1, which holds the loads in flight.
    const std::vector<WgStamp> stamps = c.read(0, wgs);
    std::map<uint32_t, int> on_sm;
    for (const WgStamp& w : stamps) most_on_one_sm = std::max(most_on_one_sm, ++on_sm[w.sm]);
    const Span s = span_of(stamps);
    if (i >= kWarmups) per_wg.push_back(bytes / wgs / s.mean_wg_ns);
    return bytes / s.ns;
  });
  const Parameters p = Parameters()("row_bytes", row_bytes)("wgs", wgs)("wgs_per_sm", per_sm)(
      "in_flight_bytes", kThreads * 16 * unroll)("footprint_bytes", footprint);
  c.row("gather", p, "bandwidth", total, "GB/s");
  c.row("gather", p, "bandwidth_per_wg", per_wg, "GB/s");
  if (most_on_one_sm != per_sm)
    std::fprintf(stderr, "gather: %d WGs should run %d on each SM, but one SM had %d\n", wgs, per_sm, most_on_one_sm);
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "gather", kPoolBytes);
  if (!c.wants("gather")) return 0;
  for (const int row_bytes : {32, 64, 128, 256, 512, 1024}) {
    for (const int unroll : {1, 2, 4, 8, 16}) {
      bench_case(c, row_bytes, 1, 1, unroll, kPoolBytes);
      for (const int per_sm : {1, 2, 4, 8}) bench_case(c, row_bytes, c.sms() * per_sm, per_sm, unroll, kPoolBytes);
    }
  }
  // The same gather on smaller tables and by fewer WGs shows the effects of the L2 and of address translation.
  for (const int64_t mib : {16, 32, 64, 128, 256, 1024, 4096}) {
    bench_case(c, 512, 1, 1, 8, mib << 20);
    bench_case(c, 512, c.sms() * 4, 4, 8, mib << 20);
  }
  // Short rows of tables beyond the L2: does the memory open rows of smaller tables faster?
  for (const int row_bytes : {32, 64, 128})
    for (const int64_t mib : {16, 32, 64, 128, 256, 512, 1024, 4096})
      bench_case(c, row_bytes, c.sms() * 8, 8, 2, mib << 20);
  // Short rows that the L2 holds, by workgroups: how many does a CU request?
  for (const int row_bytes : {32, 64, 128})
    for (const int unroll : {2, 8})
      for (const int per_sm : {1, 2, 4}) bench_case(c, row_bytes, c.sms() * per_sm, per_sm, unroll, int64_t{16} << 20);
  // Small tables: how many requests does a request of a neighbouring SM for the same line save?
  for (const int row_bytes : {128, 256, 512})
    for (const int64_t kib : {256, 512, 1024, 2048, 4096, 8192})
      bench_case(c, row_bytes, c.sms() * 4, 4, 8, kib << 10);
  for (const int wgs : {8, 16, 33, 66}) bench_case(c, 512, wgs, 1, 8, kPoolBytes);
  return 0;
}
