// The benchmarks gpc, sm, sm_share and gpc_read: which SMs form a GPC, in which order SMs receive workgroups, and the
// bandwidth of each SM and each GPC.
#include <algorithm>
#include <map>
#include <numeric>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;
constexpr int kOnePerSm = 200 * 1024;
constexpr int kRowsPerWg = 4096;
constexpr int kMaxSms = 1024;

// The WGs spin for different times, so that later clusters are placed on other combinations of SMs.
__global__ void cluster_kernel(uint64_t spin_ns, WgStamp* stamps) {
  if (threadIdx.x != 0) return;
  const uint64_t start = global_ns();
  const uint64_t spin = spin_ns + hash32(blockIdx.x * 31 + uint32_t(start)) % (spin_ns + 1);
  while (global_ns() < start + spin) {
  }
  stamps[blockIdx.x] = {start, global_ns(), 0, sm_id(), 0};
}

__global__ void blocker_kernel(uint64_t spin_ns, WgStamp* stamps) {
  if (threadIdx.x != 0) return;
  const uint64_t start = global_ns();
  while (global_ns() < start + spin_ns) {
  }
  stamps[blockIdx.x] = {start, global_ns(), 0, sm_id(), 0};
}

// For a window of time, the WGs on SMs with allowed[SM] = 1 read random rows of 512 bytes; each warp requests kUnroll
// rows at a time. The WGs on all other SMs stay until the window opens, so that no SM gets more WGs than the others.
template <int kUnroll>
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    gather_window_kernel(const float4* pool, uint32_t rows, uint32_t seed, const uint8_t* allowed, Window window,
                         float* sink, WgStamp* stamps) {
  __shared__ int numbers[kRowsPerWg];
  __shared__ WindowTotals totals;
  for (uint32_t i = threadIdx.x; i < kRowsPerWg; i += kThreads)
    numbers[i] = int(__umulhi(hash32((blockIdx.x * kRowsPerWg + i) ^ (seed * 0x01000193U)), rows));
  window_enter(window, totals);
  if (allowed[sm_id()] == 0) {
    if (threadIdx.x == 0) stamps[blockIdx.x] = {totals.begin, totals.begin, 0, sm_id(), 0};
    return;
  }
  constexpr int kRowsPerGroup = kRowsPerWg / (kThreads / 32);
  const int* mine = numbers + int(threadIdx.x) / 32 * kRowsPerGroup;
  const int column = int(threadIdx.x) % 32;
  const uint64_t warm = totals.begin + window.warm_ns;
  uint64_t now = 0, from = 0, bytes = 0;
  float4 sum = make_float4(0, 0, 0, 0);
  // The row numbers repeat, but only after all WGs together have read far more bytes than the L2 holds.
  for (int i = 0;; i = (i + 4 * kUnroll) % kRowsPerGroup) {
#pragma unroll 1
    for (int batch = 0; batch < 4; ++batch) {
      float4 piece[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        piece[u] = load_streaming(pool + int64_t(mine[i + batch * kUnroll + u]) * 32 + column);
      add_batch(sum, piece);
    }
    now = global_ns();
    if (from != 0) bytes += 4 * kUnroll * 512;
    if (from == 0 && now >= warm) from = now;
    if (from != 0 && now >= from + window.length_ns) break;
  }
  keep(sum, sink);
  if (column == 0) window_add(totals, bytes, from, now);
  window_stamp(stamps, totals);
}

class Topology {
 public:
  explicit Topology(Collector& c) : parent_(c.sms()), order_(c.sms()) {
    CUDA_CHECK(cudaSetDevice(0));
    std::iota(parent_.begin(), parent_.end(), 0);
    find_gpcs(c);
    find_order(c);
  }
  // Returns the SMs of every GPC. The GPCs are in the order of their lowest SM number.
  std::vector<std::vector<int>> gpcs() {
    std::map<int, std::vector<int>> members;
    for (int sm = 0; sm < int(parent_.size()); ++sm) members[root(sm)].push_back(sm);
    std::vector<std::vector<int>> result;
    for (auto& [first, list] : members) result.push_back(list);
    return result;
  }
  const std::vector<double>& order(int sm) const { return order_[sm]; }  // one number per repetition

 private:
  int root(int sm) {
    while (parent_[sm] != sm) sm = parent_[sm] = parent_[parent_[sm]];
    return sm;
  }
  void join(int a, int b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  void find_gpcs(Collector& c) {
    int clusters = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0));
    if (clusters == 0) {
      std::fprintf(stderr, "topology: this GPU has no clusters: every SM counts as a GPC of its own\n");
      return;
    }
    CUDA_CHECK(cudaFuncSetAttribute(cluster_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOnePerSm));
    CUDA_CHECK(cudaFuncSetAttribute(cluster_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    for (const int shared : {kOnePerSm, 0}) {
      for (const int cluster : {2, 4, 8, 16}) {
        const int wgs = c.sms() * 16 / cluster * cluster;
        for (int launch = 0; launch < 10; ++launch) {
          cudaLaunchAttribute attribute;
          attribute.id = cudaLaunchAttributeClusterDimension;
          attribute.val.clusterDim.x = unsigned(cluster);
          attribute.val.clusterDim.y = 1;
          attribute.val.clusterDim.z = 1;
          cudaLaunchConfig_t config{};
          config.gridDim = dim3(unsigned(wgs));
          config.blockDim = dim3(kThreads);
          config.dynamicSmemBytes = size_t(shared);
          config.stream = c.stream(0);
          config.attrs = &attribute;
          config.numAttrs = 1;
          CUDA_CHECK(cudaLaunchKernelEx(&config, cluster_kernel, uint64_t{4'000}, c.stamps(0)));
          const std::vector<WgStamp> s = c.read(0, wgs);
          for (int w = 0; w < wgs; ++w) join(int(s[w].sm), int(s[w / cluster * cluster].sm));
        }
      }
    }
  }

  // Finds the order in which SMs receive WGs, which the hardware places in the order of their numbers.
  void find_order(Collector& c) {
    CUDA_CHECK(cudaFuncSetAttribute(blocker_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOnePerSm));
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      blocker_kernel<<<c.sms(), kThreads, kOnePerSm>>>(100'000, c.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      const std::vector<WgStamp> s = c.read(0, c.sms());
      if (i < kWarmups) continue;
      for (int w = 0; w < c.sms(); ++w) order_[s[w].sm].push_back(w);
    }
  }

  std::vector<int> parent_;
  std::vector<std::vector<double>> order_;
};

class Shares {
 public:
  explicit Shares(Collector& c) : c_(c) {
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaMalloc(&allowed_, kMaxSms));
    CUDA_CHECK(cudaMalloc(&word_, sizeof(unsigned long long)));
  }
  ~Shares() {
    cudaFree(allowed_);
    cudaFree(word_);
  }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  // Returns the bandwidth of every SM in GB/s while only the SMs in `sms` read; 0 for the other SMs.
  std::vector<double> measure(const std::vector<int>& sms, int per_sm, uint32_t seed) {
    std::vector<uint8_t> allowed(kMaxSms, 0);
    for (const int sm : sms) allowed[sm] = 1;
    CUDA_CHECK(cudaMemcpy(allowed_, allowed.data(), kMaxSms, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(word_, 0, sizeof(unsigned long long)));
    const Window window{word_, 60'000, 50'000, 400'000};
    const int wgs = c_.sms() * per_sm;
    gather_window_kernel<8>
        <<<wgs, kThreads>>>(c_.pool(0), uint32_t(kPoolBytes / 512), seed, allowed_, window, c_.sink(0), c_.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    std::vector<double> rate(c_.sms(), 0.0);
    std::vector<int> count(c_.sms(), 0);
    for (const WgStamp& s : c_.read(0, wgs)) {
      rate[s.sm] += window_rate(s);
      ++count[s.sm];
    }
    for (const int sm : sms)
      if (count[sm] != per_sm && !warned_) {
        warned_ = true;
        std::fprintf(stderr, "topology: SM %d got %d WGs; %d would be right\n", sm, count[sm], per_sm);
      }
    return rate;
  }

 private:
  Collector& c_;
  uint8_t* allowed_ = nullptr;
  unsigned long long* word_ = nullptr;
  bool warned_ = false;
};

void bench_sm_share(Collector& c) {
  Shares shares(c);
  std::vector<int> all(c.sms());
  std::iota(all.begin(), all.end(), 0);
  for (const int per_sm : {1, 4}) {
    std::vector<std::vector<double>> rates(c.sms());
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      const std::vector<double> rate = shares.measure(all, per_sm, uint32_t(i + 1));
      for (int sm = 0; sm < c.sms() && i >= kWarmups; ++sm) rates[sm].push_back(rate[sm]);
    }
    for (int sm = 0; sm < c.sms(); ++sm)
      c.row("sm_share", Parameters()("sm", sm)("wgs_per_sm", per_sm)("in_flight_bytes", 32768), "bandwidth", rates[sm],
            "GB/s");
  }
}

void bench_gpc_read(Collector& c, const std::vector<std::vector<int>>& gpcs) {
  Shares shares(c);
  for (const int per_sm : {1, 4}) {
    for (int gpc = 0; gpc < int(gpcs.size()); ++gpc) {
      const int all = int(gpcs[gpc].size());
      if (all < 2) continue;
      for (int sms = 2;; sms = std::min(sms + 2, all)) {
        const std::vector<int> working(gpcs[gpc].begin(), gpcs[gpc].begin() + sms);
        const std::vector<double> total = repeat(
            [&](int i) {
              const std::vector<double> rate = shares.measure(working, per_sm, uint32_t(i * 977 + sms));
              return std::accumulate(rate.begin(), rate.end(), 0.0);
            },
            5);
        c.row("gpc_read", Parameters()("gpc", gpc)("sms", sms)("wgs_per_sm", per_sm)("in_flight_bytes", 32768),
              "bandwidth", total, "GB/s");
        if (sms == all) break;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "topology", kPoolBytes);
  Topology topology(c);
  const std::vector<std::vector<int>> gpcs = topology.gpcs();
  if (c.wants("gpc"))
    for (size_t g = 0; g < gpcs.size(); ++g)
      c.row("gpc", Parameters()("gpc", int64_t(g)), "sms", {double(gpcs[g].size())}, "1");
  if (c.wants("sm")) {
    for (int sm = 0; sm < c.sms(); ++sm) {
      size_t gpc = 0;
      while (std::find(gpcs[gpc].begin(), gpcs[gpc].end(), sm) == gpcs[gpc].end()) ++gpc;
      c.row("sm", Parameters()("sm", sm), "gpc", {double(gpc)}, "1");
      c.row("sm", Parameters()("sm", sm), "blocker_order", topology.order(sm), "1");
    }
  }
  if (c.wants("sm_share")) bench_sm_share(c);
  if (c.wants("gpc_read")) bench_gpc_read(c, gpcs);
  return 0;
}
