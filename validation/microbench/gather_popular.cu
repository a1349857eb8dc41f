// The benchmark gather_popular: what it costs if many WGs read the same cache lines at the same time. Rows are drawn by
// Zipf's law, or a share of the reads goes to a few rows.
#include <algorithm>
#include <cmath>
#include <random>

#include "access.cuh"
#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{1} << 30;
constexpr int kUnroll = 8, kWgsPerSm = 4;
constexpr int kRowsPerWg = 4096;

__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    gather_kernel(const float4* pool, const uint32_t* rows, int row_vectors, float* sink, WgStamp* stamps) {
  __shared__ int numbers[kRowsPerWg];
  for (uint32_t i = threadIdx.x; i < kRowsPerWg; i += kThreads) numbers[i] = int(rows[blockIdx.x * kRowsPerWg + i]);
  __syncthreads();
  const uint64_t start = global_ns();
  const int rows_per_group = kRowsPerWg / (kThreads / row_vectors);
  const int* mine = numbers + int(threadIdx.x) / row_vectors * rows_per_group;
  const int column = int(threadIdx.x) % row_vectors;
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int i = 0; i < rows_per_group; i += kUnroll) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(pool + int64_t(mine[i + u]) * row_vectors + column);
    add_batch(sum, piece);
  }
  keep(sum, sink);
  stamp(stamps, start);
}

// Returns the row with popularity rank `rank`. Each rank has its own row, and neighbouring ranks are not neighbours in
// memory.
uint32_t place_of(uint32_t rank, uint32_t rows) { return uint32_t((uint64_t{rank} * 2654435761ULL + 12345) % rows); }

struct Draw {
  double exponent = 0;  // exponent of Zipf's law; 0: all rows are equally popular
  double hot = 0;       // share of the reads that go to `hot_rows` rows
  int hot_rows = 1;
};

std::vector<uint32_t> drawn(const Draw& draw, uint32_t rows, size_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<double> cdf;
  if (draw.exponent > 0) {
    double sum = 0;
    for (uint32_t k = 1; k <= rows; ++k) cdf.push_back(sum += std::pow(k, -draw.exponent));
    for (double& value : cdf) value /= sum;
  }
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    uint32_t rank = uint32_t(share(random) * rows);
    if (draw.exponent > 0)
      rank = uint32_t(std::lower_bound(cdf.begin(), cdf.end(), share(random)) - cdf.begin());
    else if (share(random) < draw.hot)
      rank = uint32_t(share(random) * draw.hot_rows);
    numbers.push_back(place_of(std::min(rank, rows - 1), rows));
  }
  return numbers;
}

void bench_case(Collector& c, int row_bytes, int64_t footprint, const Draw& draw) {
  const uint32_t rows = uint32_t(footprint / row_bytes);
  const int wgs = c.sms() * kWgsPerSm;
  const std::vector<uint32_t> numbers = drawn(draw, rows, size_t(wgs) * kRowsPerWg);
  uint32_t* on_gpu = nullptr;
  CUDA_CHECK(cudaMalloc(&on_gpu, numbers.size() * sizeof(uint32_t)));
  CUDA_CHECK(cudaMemcpy(on_gpu, numbers.data(), numbers.size() * sizeof(uint32_t), cudaMemcpyHostToDevice));
  const double bytes = double(numbers.size()) * row_bytes;
  const std::vector<double> rate = repeat([&](int) {
    gather_kernel<<<wgs, kThreads>>>(c.pool(0), on_gpu, row_bytes / 16, c.sink(0), c.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    return bytes / c.span(0, wgs).ns;
  });
  CUDA_CHECK(cudaFree(on_gpu));
  c.row("gather_popular",
        Parameters()("row_bytes", row_bytes)("footprint_bytes", footprint)("exponent_percent",
                                                                           int64_t(std::lround(100 * draw.exponent)))(
            "hot_per_mille", int64_t(std::lround(1000 * draw.hot)))("hot_rows", draw.hot > 0 ? draw.hot_rows : 0)(
            "wgs", wgs)("wgs_per_sm", kWgsPerSm)("in_flight_bytes", kThreads * 16 * kUnroll),
        "bandwidth", rate, "GB/s");
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "gather_popular", kPoolBytes);
  if (!c.wants("gather_popular")) return 0;
  constexpr int64_t kMib = int64_t{1} << 20;
  for (const int row_bytes : {128, 256, 512, 1024}) {
    for (const int64_t footprint : {8 * kMib, 512 * kMib}) {
      bench_case(c, row_bytes, footprint, {});
      for (const double hot : {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0})
        bench_case(c, row_bytes, footprint, {0, hot, 1});
      for (const int hot_rows : {2, 8, 64}) bench_case(c, row_bytes, footprint, {0, 0.5, hot_rows});
    }
    for (const double exponent : {0.5, 0.8, 0.95, 1.05, 1.2, 1.5})
      bench_case(c, row_bytes, 512 * kMib, {exponent, 0, 1});
  }
  // Short rows, of which a CU requests only so many: do popular ones cost it a request each?
  for (const int row_bytes : {32, 64})
    for (const int64_t footprint : {8 * kMib, 512 * kMib})
      for (const double exponent : {0.0, 0.5, 0.8, 0.95, 1.05, 1.2, 1.5})
        bench_case(c, row_bytes, footprint, {exponent, 0, 1});
  // Popular rows of small tables, of which neighbouring SMs request the same line at the same time.
  for (const int row_bytes : {64, 128, 256, 512, 1024})
    for (const int64_t kib : {256, 512, 1024, 2048, 4096})
      for (const double exponent : {0.3, 0.5, 0.8, 1.05, 1.2, 1.5})
        bench_case(c, row_bytes, kib << 10, {exponent, 0, 1});
  return 0;
}
