// What a model of the traced kernel needs to know about the machine, measured without that kernel: timer, launch and
// dispatch, gathers of random rows, flags and stores between GPUs. One tidy CSV; calibration uses this, never the
// trace.
//
// Rates are bytes over the span from the first WG's start to the last WG's end, both read from the GPU's own timer, so
// no launch cost is in them. `spread` is largest minus smallest of the repetitions, `value` their median.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "clock_sync.hpp"
#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "gpu_info.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;
constexpr int kRepetitions = 9;
constexpr int kWarmups = 2;

struct WgStamp {
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t sm;
  uint32_t padding;
};

// ---- kernels ----

__device__ uint32_t hash32(uint32_t x) {
  x *= 0x9e3779b1U;
  x ^= x >> 15;
  x *= 0x85ebca77U;
  return x ^ (x >> 13);
}

constexpr int kRowsPerWg = 4096;  // of a gather: 1, 2 or 4 MiB of 256-, 512- or 1024-byte rows

// Each group of row_vectors threads reads its share of kRowsPerWg random rows, kUnroll of them before the first is
// used. Row numbers lie in shared memory before the clock starts, so nothing but the rows is read from memory and no
// arithmetic stands between the loads of a batch.
//
// The WGs a SM asked of the compiler leave registers for exactly one batch; without them it saves registers by waiting
// for the first loads before it issues the last (seen in the disassembly).
template <int kUnroll>
__global__ void __launch_bounds__(kThreads, kUnroll == 16  ? 2
                                            : kUnroll == 8 ? 4
                                                           : 6)
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
#pragma unroll 1  // the compiler's own unrolling would change the bytes in flight
  for (int i = 0; i < rows_per_group; i += kUnroll) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(pool + int64_t(mine[i + u]) * row_vectors + column);
      // Last asked for, first added: no add can start before the loads of the batch are issued.
#pragma unroll
    for (int u = kUnroll - 1; u >= 0; --u) {
      sum.x += piece[u].x;
      sum.y += piece[u].y;
      sum.z += piece[u].z;
      sum.w += piece[u].w;
    }
  }
  if (sum.x + sum.y + sum.z + sum.w == 1e30F) *sink = sum.x;  // never true for the pool's contents: keeps the loads
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), sm_id(), 0};
}

// One dependent load after another by one thread: unloaded latency.
__global__ void chase_kernel(const uint32_t* next, uint32_t at, int hops, uint32_t* sink, WgStamp* stamps) {
  for (int i = 0; i < 64; ++i) at = __ldcg(next + at);
  const uint64_t start = global_ns();
  for (int i = 0; i < hops; ++i) at = __ldcg(next + at);
  const uint64_t end = global_ns();
  *sink = at;
  stamps[0] = {start, end, sm_id(), 0};
}

// A full-period congruential walk over the lines: no line comes twice, and successive ones are far apart.
__global__ void fill_chase(uint32_t* next, uint32_t words, uint32_t stride) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words / stride; i += gridDim.x * blockDim.x)
    next[i * stride] = ((1664525U * i + 1013904223U) & (words / stride - 1)) * stride;
}

struct Peers {
  float4* base[kMaxRanks];
  int count;
};

// WG w stores `chunks` chunks of `chunk_vectors` x 16 B to peer w % count, `stride_vectors` apart; 4 stores a thread
// are independent. The end is stamped after a system fence: the peer has the data.
__global__ void __launch_bounds__(kThreads) store_kernel(Peers peers, int64_t vectors_per_wg, int chunk_vectors,
                                                         int stride_vectors, int64_t region_vectors, WgStamp* stamps) {
  const uint64_t start = global_ns();
  float4* to = peers.base[blockIdx.x % peers.count] + int64_t(blockIdx.x / peers.count) * region_vectors;
  const float4 value = make_float4(float(threadIdx.x), 1.0F, 2.0F, float(blockIdx.x));
  // All sizes are powers of two: shifts and masks keep the address arithmetic off the critical path.
  const int shift = 31 - __clz(chunk_vectors);
  for (int64_t i = threadIdx.x; i < vectors_per_wg; i += kThreads * 4) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int64_t v = i + u * kThreads;
      to[(v >> shift) * stride_vectors + (v & (chunk_vectors - 1))] = value;
    }
  }
  fence_sys();
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), sm_id(), 0};
}

// Copies local memory to a peer, kUnroll loads a thread before the stores of them.
template <int kUnroll>
__global__ void __launch_bounds__(kThreads)
    copy_kernel(const float4* from, Peers peers, int64_t vectors_per_wg, WgStamp* stamps) {
  const uint64_t start = global_ns();
  float4* to = peers.base[blockIdx.x % peers.count] + int64_t(blockIdx.x / peers.count) * vectors_per_wg;
  from += int64_t(blockIdx.x) * vectors_per_wg;
  for (int64_t i = threadIdx.x; i < vectors_per_wg; i += kThreads * kUnroll) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(from + i + u * kThreads);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) to[i + u * kThreads] = piece[u];
  }
  fence_sys();
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), sm_id(), 0};
}

// Time that one WG spends between its first store and the return of a system fence, for `vectors` 16-byte stores.
__global__ void fence_kernel(float4* to, int vectors, uint64_t* took, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const uint64_t start = global_ns();
    for (int i = threadIdx.x; i < vectors; i += kThreads) to[i] = make_float4(1.0F, 2.0F, 3.0F, float(round));
    __syncthreads();
    if (threadIdx.x == 0) {
      fence_sys();
      took[round] = global_ns() - start;
    }
  }
}

// What a release costs when the memory and the links are busy: every WG gathers `rows` 512-byte rows a group, stores
// `vectors` 16-byte pieces to its peer, then thread 0 fences; the fence alone is timed, one number a WG and round.
__global__ void __launch_bounds__(kThreads)
    loaded_fence_kernel(const float4* pool, uint32_t pool_rows, int rows, Peers peers, int vectors, int rounds,
                        uint32_t* took, float* sink) {
  const int group = int(threadIdx.x) / 32, column = int(threadIdx.x) % 32;
  float4* to = peers.base[blockIdx.x % peers.count] + int64_t(blockIdx.x) * vectors * rounds;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int round = 0; round < rounds; ++round) {
    const uint32_t first = ((blockIdx.x * rounds + round) * 8 + group) * 4096U;
#pragma unroll 1
    for (int i = 0; i < rows; i += 8) {
      float4 piece[8];
#pragma unroll
      for (int u = 0; u < 8; ++u)
        piece[u] = load_streaming(pool + int64_t(__umulhi(hash32(first + i + u), pool_rows)) * 32 + column);
#pragma unroll
      for (int u = 7; u >= 0; --u) {
        sum.x += piece[u].x;
        sum.y += piece[u].y;
        sum.z += piece[u].z;
        sum.w += piece[u].w;
      }
    }
    for (int i = threadIdx.x; i < vectors; i += kThreads) to[int64_t(round) * vectors + i] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      const uint64_t start = global_ns();
      fence_sys();
      took[blockIdx.x * rounds + round] = uint32_t(global_ns() - start);
    }
    __syncthreads();
  }
  if (sum.x + sum.y + sum.z + sum.w == 1e30F) *sink = sum.x;
}

// A WG that does nothing for `spin_ns`.
__global__ void idle_kernel(uint64_t spin_ns, WgStamp* stamps) {
  uint64_t start = 0;
  if (threadIdx.x == 0) {  // one thread alone: a full SM of threads reading the timer would hold up the stamps
    start = global_ns();
    while (spin_ns != 0 && global_ns() < start + spin_ns) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), sm_id(), 0};
}

__global__ void host_flag_kernel(volatile uint32_t* flag, uint32_t value) { *flag = value; }

__global__ void clock_kernel(uint64_t spin_ns, double* mhz) {
  const uint64_t t0 = global_ns();
  const int64_t c0 = clock64();
  while (global_ns() < t0 + spin_ns) {
  }
  const uint64_t t1 = global_ns();
  *mhz = double(clock64() - c0) * 1e3 / double(t1 - t0);
}

// ---- results ----

struct Parameters {
  int row_bytes = -1, wgs = -1, wgs_per_sm = -1, unroll = -1, bytes_in_flight_per_wg = -1, peers = -1, senders = -1,
      store_bytes = -1;
  double footprint_gib = -1;
};

class Csv {
 public:
  Csv(const std::string& path, const std::vector<std::pair<std::string, std::string>>& provenance)
      : file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) {
      std::perror(path.c_str());
      std::exit(1);
    }
    for (const auto& [key, value] : provenance) std::fprintf(file_, "# %s: %s\n", key.c_str(), value.c_str());
    std::fprintf(
        file_,
        "benchmark,row_bytes,wgs,wgs_per_sm,unroll,bytes_in_flight_per_wg,peers,senders,store_bytes,footprint_gib,"
        "metric,value,unit,repetitions,spread\n");
  }
  ~Csv() {
    if (std::fclose(file_) != 0) std::perror("microbench.csv");
  }
  Csv(const Csv&) = delete;
  Csv& operator=(const Csv&) = delete;

  void row(const char* benchmark, const Parameters& p, const char* metric, std::vector<double> values,
           const char* unit) {
    std::sort(values.begin(), values.end());
    const double median = values[values.size() / 2], spread = values.back() - values.front();
    std::fprintf(file_, "%s", benchmark);
    for (const int v :
         {p.row_bytes, p.wgs, p.wgs_per_sm, p.unroll, p.bytes_in_flight_per_wg, p.peers, p.senders, p.store_bytes}) {
      if (v < 0)
        std::fprintf(file_, ",");
      else
        std::fprintf(file_, ",%d", v);
    }
    if (p.footprint_gib < 0)
      std::fprintf(file_, ",");
    else
      std::fprintf(file_, ",%g", p.footprint_gib);
    std::fprintf(file_, ",%s,%.4g,%s,%zu,%.3g\n", metric, median, unit, values.size(), spread);
  }

 private:
  std::FILE* file_;
};

struct Span {
  double ns = 0;          // first start to last end
  double mean_wg_ns = 0;  // mean time of one WG
};

class Machine {
 public:
  explicit Machine(int ranks) : ranks_(ranks), pool_(ranks), stamps_(ranks) {
    for (int r = 0; r < ranks; ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      for (int p = 0; p < ranks; ++p) {
        if (p == r) continue;
        const cudaError_t status = cudaDeviceEnablePeerAccess(p, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled)
          (void)cudaGetLastError();
        else
          CUDA_CHECK(status);
      }
      CUDA_CHECK(cudaMalloc(&pool_[r], kPoolBytes));
      CUDA_CHECK(cudaMemset(pool_[r], 0x3e, kPoolBytes));
      CUDA_CHECK(cudaMalloc(&stamps_[r], sizeof(WgStamp) * kMaxWgs));
      CUDA_CHECK(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, r));
      CUDA_CHECK(cudaDeviceSynchronize());
    }
  }
  static constexpr int kMaxWgs = 132 * 256;

  int ranks() const { return ranks_; }
  int sms() const { return sms_; }
  float4* pool(int rank) const { return pool_[rank]; }
  WgStamp* stamps(int rank) const { return stamps_[rank]; }

  std::vector<WgStamp> read(int rank, int wgs) const {
    std::vector<WgStamp> host(wgs);
    CUDA_CHECK(cudaSetDevice(rank));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(host.data(), stamps_[rank], sizeof(WgStamp) * wgs, cudaMemcpyDeviceToHost));
    return host;
  }
  Span span(int rank, int wgs) const {
    uint64_t first = UINT64_MAX, last = 0;
    double sum = 0;
    for (const WgStamp& s : read(rank, wgs)) {
      first = std::min(first, s.start_ns);
      last = std::max(last, s.end_ns);
      sum += double(s.end_ns - s.start_ns);
    }
    return {double(last - first), sum / wgs};
  }

 private:
  int ranks_, sms_ = 0;
  std::vector<float4*> pool_;
  std::vector<WgStamp*> stamps_;
};

template <typename Function>
std::vector<double> repeat(Function once) {
  std::vector<double> values;
  for (int i = 0; i < kWarmups + kRepetitions; ++i) {
    const double v = once(i);
    if (i >= kWarmups) values.push_back(v);
  }
  return values;
}

// ---- benchmarks ----

using GatherKernel = void (*)(const float4*, uint32_t, int, uint32_t, float*, WgStamp*);
GatherKernel gather(int unroll) {
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

void bench_gather_case(Machine& m, Csv& csv, int row_bytes, int wgs, int per_sm, int unroll, int64_t footprint) {
  const GatherKernel kernel = gather(unroll);
  CUDA_CHECK(cudaSetDevice(0));
  int occupancy = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy, kernel, kThreads, 0));
  if (per_sm > occupancy) return;
  const double bytes = double(kRowsPerWg) * row_bytes * wgs;
  std::vector<double> per_wg;
  int most_on_one_sm = 0;
  const std::vector<double> total = repeat([&](int i) {
    kernel<<<wgs, kThreads>>>(m.pool(0), uint32_t(footprint / row_bytes), row_bytes / 16,
                              uint32_t(i * 7919 + unroll * 131 + wgs), reinterpret_cast<float*>(m.stamps(0)),
                              m.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    // An idle GPU spreads WGs evenly; shared memory to force it would take room from the L1, where loads in flight
    // land.
    std::map<uint32_t, int> on_sm;
    for (const WgStamp& w : m.read(0, wgs)) most_on_one_sm = std::max(most_on_one_sm, ++on_sm[w.sm]);
    const Span s = m.span(0, wgs);
    if (i >= kWarmups) per_wg.push_back(bytes / wgs / s.mean_wg_ns);
    return bytes / s.ns;
  });
  Parameters p;
  p.row_bytes = row_bytes;
  p.wgs = wgs;
  p.wgs_per_sm = per_sm;
  p.unroll = unroll;
  p.bytes_in_flight_per_wg = kThreads * 16 * unroll;
  p.footprint_gib = double(footprint) / double(int64_t{1} << 30);
  csv.row("gather", p, "total_bandwidth", total, "GB/s");
  csv.row("gather", p, "bandwidth_per_wg", per_wg, "GB/s");
  if (most_on_one_sm != per_sm)
    std::printf("gather: %d WGs, %d a SM asked for, %d seen on one\n", wgs, per_sm, most_on_one_sm);
}

void bench_gather(Machine& m, Csv& csv) {
  for (const int row_bytes : {256, 512, 1024}) {
    for (const int unroll : {1, 2, 4, 8, 16}) {
      bench_gather_case(m, csv, row_bytes, 1, 1, unroll, kPoolBytes);
      for (const int per_sm : {1, 2, 3, 4, 6, 8})
        bench_gather_case(m, csv, row_bytes, m.sms() * per_sm, per_sm, unroll, kPoolBytes);
    }
  }
  // How much of the latency is address translation: the same gather over smaller and larger tables, and over half the
  // SMs.
  for (const int64_t mib : {16, 256, 1024, 4096}) {
    bench_gather_case(m, csv, 512, 1, 1, 8, mib << 20);
    bench_gather_case(m, csv, 512, m.sms() * 4, 4, 8, mib << 20);
  }
  for (const int wgs : {8, 16, 33, 66}) bench_gather_case(m, csv, 512, wgs, 1, 8, kPoolBytes);
}

void bench_latency(Machine& m, Csv& csv) {
  CUDA_CHECK(cudaSetDevice(0));
  for (const int64_t mib : {16, 1024, 8192}) {
    const int64_t footprint = std::min<int64_t>(mib << 20, kPoolBytes);
    const uint32_t stride = 128 / 4;  // one word a 128-byte line
    fill_chase<<<m.sms() * 8, 256>>>(reinterpret_cast<uint32_t*>(m.pool(0)), uint32_t(footprint / 4), stride);
    CUDA_CHECK(cudaGetLastError());
    constexpr int kHops = 2000;
    const std::vector<double> ns = repeat([&](int i) {
      const uint32_t start = uint32_t(i) * 0x9e3779b1U & uint32_t(footprint / 128 - 1);
      chase_kernel<<<1, 1>>>(reinterpret_cast<const uint32_t*>(m.pool(0)), start * stride, kHops,
                             reinterpret_cast<uint32_t*>(m.stamps(0) + 8), m.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      return m.span(0, 1).ns / kHops;
    });
    Parameters p;
    p.wgs = 1;
    p.footprint_gib = double(footprint) / double(int64_t{1} << 30);
    csv.row("load_latency", p, "dependent_load", ns, "ns");
    // The same hops again: 2,064 lines of 128 bytes, which the L2 still holds.
    const std::vector<double> again = repeat([&](int) {
      chase_kernel<<<1, 1>>>(reinterpret_cast<const uint32_t*>(m.pool(0)), 0, kHops,
                             reinterpret_cast<uint32_t*>(m.stamps(0) + 8), m.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      return m.span(0, 1).ns / kHops;
    });
    csv.row("load_latency", p, "dependent_load_repeated", again, "ns");
  }
  CUDA_CHECK(cudaMemset(m.pool(0), 0x3e, kPoolBytes));
}

// First wave: WGs that outlive the dispatch of all. Later waves: how long an SM slot stays empty. Raw stamps go to
// their own file, because the order of SMs is a result, too.
void bench_dispatch(Machine& m, Csv& csv, std::FILE* raw) {
  std::fprintf(raw, "case,wgs_per_sm,spin_ns,wg,cu,start_ns,end_ns\n");
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaFuncSetAttribute(idle_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  for (const int per_sm : {1, 2, 4, 8}) {
    const uint64_t spin = 20'000;
    const int first_wave = m.sms() * per_sm, wgs = first_wave * 3;
    const int shared = 227 * 1024 / per_sm - 2048;
    std::vector<double> interval, span, replace, first_wave_count;
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      idle_kernel<<<wgs, kThreads, shared>>>(spin, m.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      const std::vector<WgStamp> s = m.read(0, wgs);
      if (i < kWarmups) continue;
      uint64_t first = UINT64_MAX, first_end = UINT64_MAX;
      for (const WgStamp& w : s) {
        first = std::min(first, w.start_ns);
        first_end = std::min(first_end, w.end_ns);
      }
      uint64_t last = first;
      int count = 0;
      std::map<uint32_t, std::vector<uint64_t>> starts, ends;  // by SM
      for (const WgStamp& w : s) {
        if (w.start_ns < first_end) {
          last = std::max(last, w.start_ns);
          ++count;
        } else {
          starts[w.sm].push_back(w.start_ns);
        }
        ends[w.sm].push_back(w.end_ns);
      }
      interval.push_back(double(last - first) / (count - 1));
      span.push_back(double(last - first));
      first_wave_count.push_back(count);
      // The k-th start after the first wave on an SM fills the slot of its k-th end.
      double sum = 0;
      int n = 0;
      for (auto& [sm, list] : starts) {
        std::vector<uint64_t>& e = ends[sm];
        std::sort(list.begin(), list.end());
        std::sort(e.begin(), e.end());
        for (size_t k = 0; k < list.size() && k < e.size(); ++k, ++n) sum += double(list[k]) - double(e[k]);
      }
      replace.push_back(sum / n);
      if (i == kWarmups + kRepetitions / 2) {
        for (int w = 0; w < wgs; ++w)
          std::fprintf(raw, "occupied,%d,%d,%d,%u,%lld,%lld\n", per_sm, int(spin), w, s[w].sm,
                       static_cast<long long>(s[w].start_ns - first), static_cast<long long>(s[w].end_ns - first));
      }
    }
    Parameters p;
    p.wgs = wgs;
    p.wgs_per_sm = per_sm;
    csv.row("dispatch", p, "first_wave_wgs", first_wave_count, "WGs");
    csv.row("dispatch", p, "first_wave_span", span, "ns");
    csv.row("dispatch", p, "first_wave_interval_per_wg", interval, "ns");
    csv.row("dispatch", p, "slot_refill_latency", replace, "ns");
  }
  for (const int spin :
       {0, 1000}) {  // empty WGs: dispatch throughput; 1 us WGs: throughput with all slots turning over
    const int wgs = m.sms() * 8 * 16;
    std::vector<double> interval;
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      idle_kernel<<<wgs, kThreads>>>(uint64_t(spin), m.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      const std::vector<WgStamp> s = m.read(0, wgs);
      if (i < kWarmups) continue;
      uint64_t first = UINT64_MAX, last = 0;
      for (const WgStamp& w : s) {
        first = std::min(first, w.start_ns);
        last = std::max(last, w.start_ns);
      }
      interval.push_back(double(last - first) / (wgs - 1));
      if (spin == 0 && i == kWarmups + kRepetitions / 2) {
        for (int w = 0; w < m.sms() * 16; ++w)
          std::fprintf(raw, "empty,8,0,%d,%u,%lld,%lld\n", w, s[w].sm, static_cast<long long>(s[w].start_ns - first),
                       static_cast<long long>(s[w].end_ns - first));
      }
    }
    Parameters p;
    p.wgs = wgs;
    p.wgs_per_sm = 8;
    csv.row("dispatch", p, spin == 0 ? "empty_wg_interval" : "1us_wg_interval", interval, "ns");
  }
}

void bench_launch(Machine& m, Csv& csv) {
  CUDA_CHECK(cudaSetDevice(0));
  uint32_t* flag = nullptr;
  CUDA_CHECK(cudaHostAlloc(&flag, 64, cudaHostAllocMapped));
  *flag = 0;
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<double> visible;
  for (int i = 0; i < 200; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    host_flag_kernel<<<1, 1>>>(flag, uint32_t(i + 1));
    while (*static_cast<volatile uint32_t*>(flag) != uint32_t(i + 1)) {
    }
    const auto end = std::chrono::steady_clock::now();
    CUDA_CHECK(cudaDeviceSynchronize());
    if (i >= 20) visible.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
  }
  Parameters p;
  p.wgs = 1;
  csv.row("launch", p, "host_call_to_host_sees_kernels_store", visible, "us");
  CUDA_CHECK(cudaFreeHost(flag));

  // Stream order: the second kernel's first WG against the first kernel's last WG; both are queued long before.
  for (const int wgs : {1, m.sms() * 4}) {
    std::vector<double> gap;
    for (int i = 0; i < kWarmups + 31; ++i) {
      idle_kernel<<<wgs, kThreads>>>(50'000, m.stamps(0));
      idle_kernel<<<wgs, kThreads>>>(2'000, m.stamps(0) + wgs);
      CUDA_CHECK(cudaGetLastError());
      const std::vector<WgStamp> s = m.read(0, 2 * wgs);
      uint64_t last = 0, first = UINT64_MAX;
      for (int w = 0; w < wgs; ++w) {
        last = std::max(last, s[w].end_ns);
        first = std::min(first, s[wgs + w].start_ns);
      }
      if (i >= kWarmups) gap.push_back(double(first) - double(last));
    }
    p.wgs = wgs;
    csv.row("launch", p, "stream_order_gap_last_wg_end_to_first_wg_start", gap, "ns");
  }

  // Event pair around an empty kernel, queued behind a busy one: the floor that event timing adds.
  cudaEvent_t begin, end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  std::vector<double> floor_us;
  for (int i = 0; i < kWarmups + 31; ++i) {
    idle_kernel<<<1, kThreads>>>(50'000, m.stamps(0));
    CUDA_CHECK(cudaEventRecord(begin));
    idle_kernel<<<1, kThreads>>>(0, m.stamps(0));
    CUDA_CHECK(cudaEventRecord(end));
    CUDA_CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= kWarmups) floor_us.push_back(ms * 1e3);
  }
  p.wgs = 1;
  csv.row("launch", p, "event_pair_around_empty_kernel", floor_us, "us");
  CUDA_CHECK(cudaEventDestroy(begin));
  CUDA_CHECK(cudaEventDestroy(end));
}

void bench_flags(Machine& m, Csv& csv) {
  ClockSync sync(m.ranks());
  std::vector<double> fastest, median, asymmetry, closure;
  std::vector<std::vector<double>> offset(m.ranks());
  for (int i = 0; i < kWarmups + kRepetitions; ++i) {
    const ClockOffsets o = sync.measure();
    if (i < kWarmups) continue;
    for (const PairOffset& pair : o.pairs) {
      fastest.push_back(pair.min_rtt_ns);
      median.push_back(pair.median_rtt_ns);
      asymmetry.push_back(pair.asymmetry_ns);
    }
    closure.push_back(o.closure_ns);
    for (int r = 0; r < m.ranks(); ++r) offset[r].push_back(o.offset_ns[r]);
  }
  Parameters p;
  p.peers = 1;
  csv.row("flag", p, "round_trip_median", median, "ns");
  csv.row("flag", p, "round_trip_fastest", fastest, "ns");
  csv.row("flag", p, "clock_offset_asymmetry", asymmetry, "ns");
  csv.row("flag", p, "clock_offset_closure", closure, "ns");
  std::vector<double> drift;
  for (int r = 1; r < m.ranks(); ++r) {
    const auto [least, most] = std::minmax_element(offset[r].begin(), offset[r].end());
    drift.push_back(*most - *least);
  }
  csv.row("flag", p, "clock_offset_drift_over_all_repetitions", drift, "ns");

  uint64_t* took = nullptr;
  constexpr int kRounds = 64;
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaMalloc(&took, sizeof(uint64_t) * kRounds));
  for (const int remote : {0, 1}) {
    for (const int bytes : {0, 4096, 8192, 65536}) {
      fence_kernel<<<1, kThreads>>>(m.pool(remote), bytes / 16, took, kRounds);
      CUDA_CHECK(cudaGetLastError());
      std::vector<uint64_t> host(kRounds);
      CUDA_CHECK(cudaMemcpy(host.data(), took, sizeof(uint64_t) * kRounds, cudaMemcpyDeviceToHost));
      std::vector<double> ns;
      for (int i = 4; i < kRounds; ++i) ns.push_back(double(host[i]));
      Parameters q;
      q.wgs = 1;
      q.peers = remote;
      q.store_bytes = bytes;
      csv.row("store_and_system_fence", q, "first_store_to_fence_return", ns, "ns");
    }
  }
  CUDA_CHECK(cudaFree(took));
}

void bench_loaded_fence(Machine& m, Csv& csv) {
  struct Case {
    int rows, bytes;  // a round: rows a group of 32 threads (8 groups), bytes a WG to the peer
    const char* metric;
  };
  constexpr int kRounds = 16;
  for (const int per_sm : {1, 4}) {
    for (const Case c : {Case{32, 0, "fence_after_gather_128KiB"}, Case{0, 8192, "fence_after_store_8KiB"},
                         Case{32, 8192, "fence_after_gather_128KiB_store_8KiB"},
                         Case{8, 8192, "fence_after_gather_32KiB_store_8KiB"}}) {
      for (const int peers : {1, m.ranks() - 1}) {
        const int wgs = m.sms() * per_sm;
        uint32_t* took = nullptr;
        CUDA_CHECK(cudaSetDevice(0));
        CUDA_CHECK(cudaMalloc(&took, sizeof(uint32_t) * wgs * kRounds));
        std::vector<double> ns;
        for (int i = 0; i < kWarmups + 3; ++i) {
          Peers to{};
          to.count = peers;
          for (int k = 0; k < peers; ++k) to.base[k] = m.pool((1 + k) % m.ranks());
          loaded_fence_kernel<<<wgs, kThreads>>>(m.pool(0), uint32_t(kPoolBytes / 512), c.rows, to, c.bytes / 16,
                                                 kRounds, took, reinterpret_cast<float*>(m.stamps(0)));
          CUDA_CHECK(cudaGetLastError());
          std::vector<uint32_t> host(size_t(wgs) * kRounds);
          CUDA_CHECK(cudaMemcpy(host.data(), took, sizeof(uint32_t) * host.size(), cudaMemcpyDeviceToHost));
          if (i < kWarmups) continue;
          for (size_t n = 0; n < host.size(); ++n)
            if (n % kRounds >= 4) ns.push_back(double(host[n]));  // the first rounds: the load is still building up
        }
        CUDA_CHECK(cudaFree(took));
        Parameters p;
        p.row_bytes = 512;
        p.store_bytes = c.bytes;
        p.wgs = wgs;
        p.wgs_per_sm = per_sm;
        p.unroll = 8;
        p.bytes_in_flight_per_wg = c.rows == 0 ? 0 : kThreads * 16 * 8;
        p.peers = peers;
        p.senders = 1;
        p.footprint_gib = double(kPoolBytes) / double(int64_t{1} << 30);
        csv.row("loaded_fence", p, c.metric, ns, "ns");
      }
    }
  }
}

// Long enough (200 us and more) that the 10-20 us between the launches on different GPUs hardly count.
int64_t wg_bytes(int wgs) { return int64_t{wgs <= 32 ? 8 : wgs <= 264 ? 2 : 1} << 20; }

// peers 0: local memory. senders: GPUs that store at once, each to its `peers` next neighbours.
void bench_store_case(Machine& m, Csv& csv, int wgs, int peers, int senders, int row_bytes) {
  const int64_t bytes_per_wg = wg_bytes(wgs);
  const int64_t vectors = bytes_per_wg / 16;
  const bool rows = row_bytes > 0;
  const int chunk = rows ? row_bytes / 16 : int(vectors);
  const int stride = rows ? chunk * 8 : chunk;  // rows: every eighth row of the destination, as in a resharded output
  const int64_t region = rows ? vectors * 8 : vectors;
  const int per_peer = (wgs + std::max(peers, 1) - 1) / std::max(peers, 1);
  if (region * 16 * per_peer * std::max(1, std::min(peers, senders)) > kPoolBytes) return;
  std::vector<double> per_wg;
  const std::vector<double> total = repeat([&](int i) {
    for (int r = 0; r < senders; ++r) {
      Peers to{};
      to.count = std::max(peers, 1);
      for (int k = 0; k < to.count; ++k) {
        const int destination = peers == 0 ? r : (r + 1 + k) % m.ranks();
        // Senders that share a receiver write to disjoint parts of its pool: sender r is neighbour k of destination.
        to.base[k] = m.pool(destination) + int64_t(k) * region * per_peer;
      }
      CUDA_CHECK(cudaSetDevice(r));
      store_kernel<<<wgs, kThreads>>>(to, vectors, chunk, stride, region, m.stamps(r));
      CUDA_CHECK(cudaGetLastError());
    }
    double slowest = 0, wg_ns = 0;
    for (int r = 0; r < senders; ++r) {
      const Span s = m.span(r, wgs);
      slowest = std::max(slowest, s.ns);
      wg_ns += s.mean_wg_ns / senders;
    }
    if (i >= kWarmups) per_wg.push_back(double(bytes_per_wg) / wg_ns);
    return double(bytes_per_wg) * wgs / slowest;
  });
  Parameters p;
  p.row_bytes = rows ? row_bytes : -1;
  p.wgs = wgs;
  p.unroll = 4;
  p.peers = peers;
  p.senders = senders;
  csv.row("store", p, "bandwidth_per_sender", total, "GB/s");
  csv.row("store", p, "bandwidth_per_wg", per_wg, "GB/s");
}

void bench_store(Machine& m, Csv& csv) {
  for (const int wgs : {1, 2, 4, 8, 16, 32, 64, 132, 264, 528}) {
    for (const int row_bytes : {0, 512}) {
      bench_store_case(m, csv, wgs, 0, 1, row_bytes);
      bench_store_case(m, csv, wgs, 1, 1, row_bytes);
      bench_store_case(m, csv, wgs, m.ranks() - 1, 1, row_bytes);
      bench_store_case(m, csv, wgs, 1, m.ranks(), row_bytes);
      bench_store_case(m, csv, wgs, m.ranks() - 1, m.ranks(), row_bytes);
    }
  }
}

template <int kUnroll>
void bench_copy_case(Machine& m, Csv& csv, int wgs, int peers) {
  const int64_t bytes_per_wg = wg_bytes(wgs);
  std::vector<double> per_wg;
  const std::vector<double> total = repeat([&](int i) {
    Peers to{};
    to.count = peers;
    for (int k = 0; k < peers; ++k) to.base[k] = m.pool((1 + k) % m.ranks());
    CUDA_CHECK(cudaSetDevice(0));
    // Sources lie in the upper half of the pool and move on with every repetition, so that none is found in the L2.
    const int64_t places = std::min<int64_t>(kWarmups + kRepetitions, kPoolBytes / 2 / (bytes_per_wg * wgs));
    const float4* from = m.pool(0) + kPoolBytes / 32 + (i % places) * (bytes_per_wg / 16) * wgs;
    copy_kernel<kUnroll><<<wgs, kThreads>>>(from, to, bytes_per_wg / 16, m.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    const Span s = m.span(0, wgs);
    if (i >= kWarmups) per_wg.push_back(double(bytes_per_wg) / s.mean_wg_ns);
    return double(bytes_per_wg) * wgs / s.ns;
  });
  Parameters p;
  p.wgs = wgs;
  p.unroll = kUnroll;
  p.bytes_in_flight_per_wg = kThreads * 16 * kUnroll;
  p.peers = peers;
  p.senders = 1;
  csv.row("copy_to_peer", p, "bandwidth_per_sender", total, "GB/s");
  csv.row("copy_to_peer", p, "bandwidth_per_wg", per_wg, "GB/s");
}

void bench_copy(Machine& m, Csv& csv) {
  for (const int wgs : {1, 8, 32, 132, 264, 528}) {
    for (const int peers : {1, m.ranks() - 1}) {
      bench_copy_case<1>(m, csv, wgs, peers);
      bench_copy_case<4>(m, csv, wgs, peers);
      bench_copy_case<8>(m, csv, wgs, peers);
    }
  }
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const std::string out = argc > 1 ? argv[1] : ".";
  int present = 0;
  CUDA_CHECK(cudaGetDeviceCount(&present));
  const int ranks = std::min(argc > 2 ? std::atoi(argv[2]) : present, kMaxRanks);
  if (ranks < 2 || ranks > present) {
    std::fprintf(stderr, "usage: %s [OUT_DIR [GPUS]]; needs 2..%d GPUs, %d present\n", argv[0], kMaxRanks, present);
    return 2;
  }
  const auto begin = std::chrono::steady_clock::now();
  Machine machine(ranks);
  const GpuInfo gpu = gpu_info(0);
  // A few milliseconds of work bring the clocks up before they are noted.
  clock_kernel<<<1, 1>>>(20'000'000, reinterpret_cast<double*>(machine.stamps(0)));
  CUDA_CHECK(cudaDeviceSynchronize());
  Csv csv(out + "/microbench.csv", {{"gpu", gpu.name},
                                    {"gpus", std::to_string(ranks)},
                                    {"driver", gpu.driver},
                                    {"cuda", gpu.cuda},
                                    {"clocks", "before: " + clocks_text(ranks)},
                                    {"date", utc_now()},
                                    {"command", "microbench " + out},
                                    {"threads_per_wg", std::to_string(kThreads)}});
  Parameters none;
  const TimerTick tick = measure_timer_tick(0);
  csv.row("timer", none, "smallest_step", {tick.tick_ns}, "ns");
  csv.row("timer", none, "mean_step", {tick.mean_step_ns}, "ns");
  csv.row("timer", none, "read_cost", {tick.read_cost_ns}, "ns");
  std::vector<double> mhz;
  for (int r = 0; r < ranks; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    double* value = reinterpret_cast<double*>(machine.stamps(r));
    clock_kernel<<<1, 1>>>(5'000'000, value);
    CUDA_CHECK(cudaGetLastError());
    double host = 0;
    CUDA_CHECK(cudaMemcpy(&host, value, sizeof host, cudaMemcpyDeviceToHost));
    mhz.push_back(host);
  }
  csv.row("timer", none, "sm_clock_against_global_timer", mhz, "MHz");

  const auto timed = [&](const char* name, auto&& function) {
    function();
    std::printf("%-10s done at %.1f s; %s\n", name, seconds_since(begin), clocks_text(ranks).c_str());
    std::fflush(stdout);
  };
  timed("launch", [&] { bench_launch(machine, csv); });
  timed("dispatch", [&] {
    const std::string path = out + "/dispatch.csv";
    std::FILE* raw = std::fopen(path.c_str(), "w");
    if (raw == nullptr) {
      std::perror(path.c_str());
      std::exit(1);
    }
    bench_dispatch(machine, csv, raw);
    std::fclose(raw);
  });
  timed("flags", [&] { bench_flags(machine, csv); });
  timed("gather", [&] { bench_gather(machine, csv); });
  timed("store", [&] { bench_store(machine, csv); });
  timed("copy", [&] { bench_copy(machine, csv); });
  timed("fence", [&] { bench_loaded_fence(machine, csv); });
  timed("latency", [&] { bench_latency(machine, csv); });
  return 0;
}
