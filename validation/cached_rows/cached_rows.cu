// cached_rows POINT ...
//
// Reads random rows of a table, so that a profiler can count the bytes that the L2 does not hold. A POINT is
// row_bytes,rows,zipf,reads,passes,reads_per_store,loads,before. The program launches the kernel `passes` times and
// prints the point and the number of each pass. In a pass, `reads` rows are read, drawn by Zipf's law of exponent
// `zipf` (0: all rows alike), and one row is stored to a new place after every `reads_per_store` reads (0: never).
// `loads` and `before` are ordinary or evict_first: how the rows are loaded, and how other data were loaded that fill
// the L2 before the first pass. evict_first is ld.global.L1::no_allocate, whose lines the L2 evicts first.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "cuda_check.hpp"
#include "evict_l2.hpp"

namespace {

constexpr int kThreads = 256, kWarp = 32, kBlocks = 528;
constexpr int kUnroll = 4;  // rows that a group of threads loads at a time
constexpr int64_t kTableBytes = int64_t{2} << 30, kStoreBytes = int64_t{1} << 30, kMostReads = int64_t{1} << 22;

enum class Loads { ordinary, evict_first };

struct Point {
  int row_bytes = 0;
  int64_t rows = 0;
  double zipf = 0;
  int64_t reads = 0;
  int passes = 1;
  int reads_per_store = 0;
  Loads loads = Loads::ordinary, before = Loads::ordinary;
};

template <Loads kLoads>
__device__ uint4 load(const uint4* p) {
  if constexpr (kLoads == Loads::ordinary) return *p;
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

template <Loads kLoads>
__global__ void evict(const uint4* other, int64_t pieces, uint32_t* sink) {
  uint32_t seen = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pieces; i += int64_t{gridDim.x} * blockDim.x) {
    const uint4 v = load<kLoads>(other + i);
    seen |= v.x | v.y | v.z | v.w;
  }
  if (seen != 0) *sink = seen;  // never happens, but keeps the compiler from removing the loads
}

// A group of `pieces` threads, at most a wavefront, reads a row. `stored` is filled in order.
template <Loads kLoads>
__global__ void read_rows(const uint4* table, const int* numbers, int64_t reads, int pieces, int reads_per_store,
                          uint4* stored, uint32_t* sink) {
  const int wide = min(pieces, kWarp), groups_of_warp = kWarp / wide, lane = int(threadIdx.x) % kWarp;
  const int64_t warp = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  const int64_t group = warp * groups_of_warp + lane / wide;
  const int64_t groups = int64_t{gridDim.x} * blockDim.x / kWarp * groups_of_warp;
  uint32_t seen = 0;
  int64_t rounds = 0;
  for (int64_t first = group * kUnroll; first < reads; first += groups * kUnroll, ++rounds) {
    for (int column = lane % wide; column < pieces; column += wide) {
      uint4 piece[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        piece[u] = load<kLoads>(table + int64_t{numbers[min(first + u, reads - 1)]} * pieces + column);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) seen |= piece[u].x | piece[u].y | piece[u].z | piece[u].w;
    }
    if (reads_per_store == 0) continue;
    // Stores of this round: a row for every reads_per_store reads, or one row in every reads_per_store / kUnroll
    // rounds.
    const int rounds_per_store = max(1, reads_per_store / kUnroll), stores = max(1, kUnroll / reads_per_store);
    if (rounds % rounds_per_store != rounds_per_store - 1) continue;
    for (int s = 0; s < stores; ++s)
      for (int column = lane % wide; column < pieces; column += wide)
        stored[((rounds / rounds_per_store * stores + s) * groups + group) * pieces + column] =
            make_uint4(seen, 1, 2, 3);
  }
  if (seen != 0) *sink = seen;
}

[[noreturn]] void refuse(const std::string& text, const char* why) {
  std::fprintf(stderr, "cached_rows: %s: %s; write row_bytes,rows,zipf,reads,passes,reads_per_store,loads,before\n",
               text.c_str(), why);
  std::exit(2);
}

Point point_of(const std::string& text) {
  Point p;
  char loads[16], before[16];
  long long rows = 0, reads = 0;
  if (std::sscanf(text.c_str(), "%d,%lld,%lf,%lld,%d,%d,%15[a-z_],%15[a-z_]", &p.row_bytes, &rows, &p.zipf, &reads,
                  &p.passes, &p.reads_per_store, loads, before) != 8)
    refuse(text, "not a point");
  p.rows = rows;
  p.reads = reads;
  const auto loads_of = [&](const std::string& word) {
    if (word != "ordinary" && word != "evict_first") refuse(text, "loads are ordinary or evict_first");
    return word == "ordinary" ? Loads::ordinary : Loads::evict_first;
  };
  p.loads = loads_of(loads);
  p.before = loads_of(before);
  const int pieces = p.row_bytes / int(sizeof(uint4));
  if (p.row_bytes < 16 || p.row_bytes % 16 != 0 || (pieces & (pieces - 1)) != 0)
    refuse(text, "row_bytes is not 16, 32, 64, ...");
  if (p.rows < 1 || p.rows * p.row_bytes > kTableBytes) refuse(text, "the table has no row, or more than 2 GiB");
  if (p.reads < 1 || p.passes < 1 || p.reads * p.passes > kMostReads) refuse(text, "no read, or more than 4 Mi");
  const int per = p.reads_per_store;
  if (per < 0 || (per > 0 && per < kUnroll && kUnroll % per != 0) || (per > kUnroll && per % kUnroll != 0))
    refuse(text, "reads_per_store is not 0, 1, 2, 4, 8, 12, ...");
  if (per > 0 && p.reads * p.row_bytes / per > kStoreBytes / 2) refuse(text, "more than 512 MiB are stored");
  return p;
}

std::vector<int> drawn(const Point& p) {
  std::mt19937_64 random(7);
  std::vector<double> sums(size_t(p.rows));
  double sum = 0;
  for (size_t k = 0; k < sums.size(); ++k) sums[k] = sum += std::pow(double(k + 1), -p.zipf);
  std::vector<int> rows(size_t(p.reads * p.passes));
  for (int& row : rows) {
    const double at = double(random() >> 11) * 0x1p-53 * sum;
    row = int(std::min<int64_t>(p.rows - 1, std::upper_bound(sums.begin(), sums.end(), at) - sums.begin()));
  }
  return rows;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Point> points;
  for (int i = 1; i < count; ++i) points.push_back(point_of(arguments[i]));
  if (points.empty()) refuse("", "no point");
  uint4 *table, *stored, *other;
  int* numbers;
  uint32_t* sink;
  CUDA_CHECK(cudaMalloc(&table, kTableBytes));
  CUDA_CHECK(cudaMalloc(&stored, kStoreBytes));
  CUDA_CHECK(cudaMalloc(&other, kFlushBytes));
  CUDA_CHECK(cudaMalloc(&numbers, sizeof(int) * kMostReads));
  CUDA_CHECK(cudaMalloc(&sink, sizeof(uint32_t)));
  CUDA_CHECK(cudaMemset(table, 0, kTableBytes));
  CUDA_CHECK(cudaMemset(other, 0, kFlushBytes));
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& p = points[i];
    const std::vector<int> rows = drawn(p);
    CUDA_CHECK(cudaMemcpy(numbers, rows.data(), sizeof(int) * rows.size(), cudaMemcpyHostToDevice));
    const auto evicting = p.before == Loads::ordinary ? evict<Loads::ordinary> : evict<Loads::evict_first>;
    evicting<<<kBlocks, kThreads>>>(other, kFlushBytes / int64_t{sizeof(uint4)}, sink);
    const auto reading = p.loads == Loads::ordinary ? read_rows<Loads::ordinary> : read_rows<Loads::evict_first>;
    for (int pass = 0; pass < p.passes; ++pass) {
      reading<<<kBlocks, kThreads>>>(table, numbers + pass * p.reads, p.reads, p.row_bytes / int(sizeof(uint4)),
                                     p.reads_per_store, stored, sink);
      CUDA_CHECK(cudaGetLastError());
      std::printf("%s %d\n", arguments[i + 1], pass);
    }
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  return 0;
}
