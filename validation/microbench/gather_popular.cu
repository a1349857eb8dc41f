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

struct Draw {
  double exponent = 0;  // exponent of Zipf's law; 0: all rows are equally popular
  double hot = 0;       // share of the reads that go to `hot_rows` rows
  int hot_rows = 1;
  bool own = false;  // each WG reads one of them, the first WGs the first one, and so on
  int places = 0;    // number of the random order of the rows in memory; 0: the order of all earlier measurements
};

// Returns the row of each popularity rank. Neighbouring ranks are not neighbours in memory.
std::vector<uint32_t> places(uint32_t rows, int number) {
  std::vector<uint32_t> places(rows);
  for (uint32_t rank = 0; rank < rows; ++rank)
    places[rank] = number > 0 ? rank : uint32_t((uint64_t{rank} * 2654435761ULL + 12345) % rows);
  if (number > 0) std::shuffle(places.begin(), places.end(), std::mt19937_64(number));
  return places;
}

std::vector<uint32_t> drawn(const Draw& draw, uint32_t rows, size_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<double> cdf;
  if (draw.exponent > 0) {
    double sum = 0;
    for (uint32_t k = 1; k <= rows; ++k) cdf.push_back(sum += std::pow(k, -draw.exponent));
    for (double& value : cdf) value /= sum;
  }
  const std::vector<uint32_t> row_of = places(rows, draw.places);
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    uint32_t rank = uint32_t(share(random) * rows);
    if (draw.exponent > 0)
      rank = uint32_t(std::lower_bound(cdf.begin(), cdf.end(), share(random)) - cdf.begin());
    else if (share(random) < draw.hot)
      rank = uint32_t((draw.own ? double(i) / double(count) : share(random)) * draw.hot_rows);
    numbers.push_back(row_of[std::min(rank, rows - 1)]);
  }
  return numbers;
}

void bench_case(Collector& c, int row_bytes, int64_t footprint, const Draw& draw, int few = 0) {
  const uint32_t rows = uint32_t(footprint / row_bytes);
  const int wgs = few > 0 ? few : c.sms() * kWgsPerSm;
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
  Parameters parameters;
  parameters("row_bytes", row_bytes)("footprint_bytes", footprint)("exponent_percent",
                                                                   int64_t(std::lround(100 * draw.exponent)))(
      "hot_per_mille", int64_t(std::lround(1000 * draw.hot)))("hot_rows", draw.hot > 0 ? draw.hot_rows : 0)("wgs", wgs)(
      "wgs_per_sm", few > 0 ? 1 : kWgsPerSm)("in_flight_bytes", kThreads * 16 * kUnroll);
  if (draw.places > 0) parameters("places", draw.places);
  c.row(few > 0           ? "gather_few"
        : draw.own        ? "gather_own"
        : draw.places > 0 ? "gather_places"
                          : "gather_popular",
        parameters, "bandwidth", rate, "GB/s");
}

// Each order of the rows is a sample of the hash that divides the addresses among the parts of the cache.
void by_places(Collector& c) {
  constexpr int64_t kMib = int64_t{1} << 20;
  for (const int row_bytes : {32, 64, 128, 256, 512, 1024, 2048}) {
    for (const int64_t mib : {8, 512}) bench_case(c, row_bytes, mib * kMib, {0, 0, 1, false, 1});
    for (int places = 1; places <= 8; ++places) {
      for (const double hot : {0.1, 1.0}) bench_case(c, row_bytes, 8 * kMib, {0, hot, 1, false, places});
      for (const int hot_rows : {1, 2, 4, 8, 16, 32, 64})
        bench_case(c, row_bytes, 8 * kMib, {0, 0.5, hot_rows, false, places});
    }
    for (int places = 1; places <= 4; ++places)
      for (const double exponent : {0.8, 1.05, 1.2, 1.5})
        for (const int64_t mib : {8, 512})
          if (mib == 8 || (row_bytes >= 128 && places <= 2))
            bench_case(c, row_bytes, mib * kMib, {exponent, 0, 1, false, places});
  }
}

// Each WG has its own popular row, as if it read a table of its own.
void by_owners(Collector& c) {
  for (const int row_bytes : {128, 256, 512, 1024})
    for (int places = 1; places <= 3; ++places)
      for (const double hot : {0.1, 0.2, 0.5, 1.0})
        for (const int hot_rows : {1, 2, 4, 8, 16, 33, 66, 132})
          bench_case(c, row_bytes, int64_t{8} << 20, {0, hot, hot_rows, true, places});
}

// Popular rows that few WGs read, at most one on each SM.
void by_few(Collector& c) {
  for (const int row_bytes : {64, 128, 256, 512, 1024})
    for (const int wgs : {1, 16, 66, c.sms()})
      for (int places = 1; places <= 2; ++places) {
        for (const double hot : {0.0, 0.1, 0.2, 0.5, 1.0})
          bench_case(c, row_bytes, int64_t{8} << 20, {0, hot, 1, false, places}, wgs);
        for (const double exponent : {0.8, 1.05, 1.2})
          bench_case(c, row_bytes, int64_t{8} << 20, {exponent, 0, 1, false, places}, wgs);
      }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "gather_popular", kPoolBytes);
  constexpr int64_t kMib = int64_t{1} << 20;
  if (c.wants("gather_places")) by_places(c);
  if (c.wants("gather_own")) by_owners(c);
  if (c.wants("gather_few")) by_few(c);
  if (!c.wants("gather_popular")) return 0;
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
