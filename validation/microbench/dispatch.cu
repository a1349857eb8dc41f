// The benchmarks dispatch, dispatch_cluster and cluster_limit: on which SMs the hardware places workgroups, and how
// fast.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "harness.hpp"

namespace {

constexpr int kOnePerSm = 200 * 1024;  // bytes of shared memory of a WG, so that no second such WG fits on the SM

// Every WG spins for `spin_ns` ns and records its start and its end.
__global__ void idle_kernel(uint64_t spin_ns, WgStamp* stamps) {
  uint64_t start = 0;
  // Only one thread reads the timer: if all threads of a full SM read it, the stamps would be late.
  if (threadIdx.x == 0) {
    start = global_ns();
    while (global_ns() < start + spin_ns) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), 0, sm_id(), 0};
}

int device_attribute(cudaDeviceAttr which) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

// Measures how long the dispatch of the first wave of WGs takes, and in later waves how long a place on an SM stays
// empty after a WG has ended. Every WG runs longer than the dispatch of a whole wave takes.
void bench_dispatch(Collector& c) {
  const int optin = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  CUDA_CHECK(cudaFuncSetAttribute(idle_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
  for (const int per_sm : {1, 2, 4, 8}) {
    const int wgs = c.sms() * per_sm * 3;
    std::vector<double> replace, count;
    const std::vector<double> span = repeat([&](int i) {
      idle_kernel<<<wgs, kThreads, optin / per_sm - 2048>>>(20'000, c.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      const std::vector<WgStamp> s = c.read(0, wgs);
      uint64_t first = UINT64_MAX, first_end = UINT64_MAX;
      for (const WgStamp& w : s) {
        first = std::min(first, w.start_ns);
        first_end = std::min(first_end, w.end_ns);
      }
      uint64_t last = first;
      int first_wave = 0;
      std::map<uint32_t, std::vector<uint64_t>> starts, ends;  // by SM
      for (const WgStamp& w : s) {
        if (w.start_ns < first_end) {
          last = std::max(last, w.start_ns);
          ++first_wave;
        } else {
          starts[w.sm].push_back(w.start_ns);
        }
        ends[w.sm].push_back(w.end_ns);
      }
      // On each SM, the k-th WG that starts after the first wave takes the place of the k-th WG that ends.
      double sum = 0;
      int n = 0;
      for (auto& [sm, list] : starts) {
        std::vector<uint64_t>& e = ends[sm];
        std::sort(list.begin(), list.end());
        std::sort(e.begin(), e.end());
        for (size_t k = 0; k < list.size() && k < e.size(); ++k, ++n) sum += double(int64_t(list[k] - e[k]));
      }
      if (i >= kWarmups) {
        count.push_back(first_wave);
        if (n > 0) replace.push_back(sum / n);
      }
      return double(last - first);
    });
    const Parameters p = Parameters()("wgs_per_sm", per_sm);
    c.row("dispatch", p, "first_wave_wgs", count, "1");
    c.row("dispatch", p, "first_wave_span", span, "ns");
    c.row("dispatch", p, "slot_refill", replace, "ns");
  }
}

cudaLaunchConfig_t cluster_launch(int wgs, int cluster, cudaStream_t stream, cudaLaunchAttribute* attribute) {
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim.x = unsigned(cluster);
  attribute->val.clusterDim.y = 1;
  attribute->val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(wgs));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kOnePerSm;
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

bool has_clusters() {
  if (device_attribute(cudaDevAttrClusterLaunch) != 0) return true;
  std::fprintf(stderr, "dispatch: this GPU has no clusters; skipped\n");
  return false;
}

void one_per_sm() {
  CUDA_CHECK(cudaFuncSetAttribute(idle_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOnePerSm));
  CUDA_CHECK(cudaFuncSetAttribute(idle_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

void bench_dispatch_cluster(Collector& c) {
  if (!has_clusters()) return;
  one_per_sm();
  cudaStream_t blocked = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&blocked, cudaStreamNonBlocking));
  for (const int cluster : {1, 2, 4}) {
    for (const int blockers : {0, 1, 2, 4, 8, 12, 16, 20, 24, 32}) {
      const int wgs = c.sms() * 2 / cluster * cluster;
      std::vector<double> count;
      for (int i = 0; i < kWarmups + kRepetitions; ++i) {
        if (blockers > 0) {
          idle_kernel<<<blockers, kThreads, kOnePerSm, blocked>>>(1'500'000, c.stamps(0) + wgs);
          CUDA_CHECK(cudaGetLastError());
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        cudaLaunchAttribute attribute;
        const cudaLaunchConfig_t config = cluster_launch(wgs, cluster, c.stream(0), &attribute);
        CUDA_CHECK(cudaLaunchKernelEx(&config, idle_kernel, uint64_t{100'000}, c.stamps(0)));
        const std::vector<WgStamp> s = c.read(0, wgs + blockers);
        uint64_t first = UINT64_MAX, first_end = UINT64_MAX;
        for (int w = 0; w < wgs; ++w) {
          first = std::min(first, s[w].start_ns);
          first_end = std::min(first_end, s[w].end_ns);
        }
        bool resident = true;  // during the whole time that is evaluated
        for (int w = wgs; w < wgs + blockers; ++w)
          resident = resident && s[w].start_ns < first && s[w].end_ns > first_end;
        if (i < kWarmups || !resident) continue;
        count.push_back(double(
            std::count_if(s.begin(), s.begin() + wgs, [&](const WgStamp& w) { return w.start_ns < first_end; })));
      }
      if (count.empty()) std::fprintf(stderr, "dispatch: %d blockers were never resident in time\n", blockers);
      c.row("dispatch_cluster", Parameters()("cluster", cluster)("blockers", blockers), "first_wave_wgs", count, "1");
    }
  }
  CUDA_CHECK(cudaStreamDestroy(blocked));
}

void bench_cluster_limit(Collector& c) {
  if (!has_clusters()) return;
  one_per_sm();
  for (const int cluster : {1, 2, 4, 8, 16}) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = cluster_launch(c.sms() / cluster * cluster, cluster, nullptr, &attribute);
    int clusters = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, idle_kernel, &config));
    c.row("cluster_limit", Parameters()("cluster", cluster), "clusters", {double(clusters)}, "1");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "dispatch", 0);
  if (c.wants("dispatch")) bench_dispatch(c);
  if (c.wants("dispatch_cluster")) bench_dispatch_cluster(c);
  if (c.wants("cluster_limit")) bench_cluster_limit(c);
  return 0;
}
