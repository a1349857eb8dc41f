// The benchmark loaded_latency: the rate of WGs that copy memory (victims) beside WGs that read as fast as they can
// (readers).
#include <algorithm>
#include <numeric>
#include <random>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{12} << 30;
constexpr int64_t kReaderBytes = int64_t{32} << 20;  // bytes that one SM's reader reads again and again
constexpr int64_t kVictimBytes = int64_t{32} << 20;  // bytes of one victim; more than it copies in a window
constexpr int64_t kVictimsFrom = int64_t{8} << 30;   // the victims' sources; readers read below them
constexpr int64_t kVictimsTo = int64_t{10} << 30;    // the victims' destinations, here or in the peer's pool
constexpr int kPlaces = 16;  // copies of all victims' buffers, used in turn, so that the L2 holds none of them
constexpr int kVictimThreads = 512;
constexpr int kReaderThreads = 1024;
constexpr int kReaderUnroll = 8;
constexpr int kMaxSms = 256;
constexpr int kRuns = 13;  // repetitions, each with other SMs for the victims

enum Role : int { kIdle = -2, kReader = -1 };  // 0, 1, ...: the number of a victim

// Runs one WG on every SM, with the role in roles[SM]. In a victim, half of the threads copy: each loads kUnroll x 16
// bytes and then stores them.
template <int kUnroll>
__global__ void __launch_bounds__(kReaderThreads, 1)
    loaded_kernel(const int* roles, const float4* pool, int64_t skew, const float4* victims_from, float4* victims_to,
                  Window window, float* sink, WgStamp* stamps) {
  __shared__ WindowTotals totals;
  const int role = roles[sm_id()];
  window_enter(window, totals);
  const uint64_t warm = totals.begin + window.warm_ns;
  uint64_t now = 0, from = 0, bytes = 0;
  int64_t at = 0;
  if (role == kIdle) {
    if (threadIdx.x == 0) stamps[blockIdx.x] = {totals.begin, totals.begin, 0, sm_id(), 0};
    return;
  }
  if (role == kReader) {
    constexpr int64_t kSpan = kReaderBytes / 16, kStep = int64_t{kReaderThreads} * kReaderUnroll;
    const float4* mine = pool + sm_id() * kSpan + threadIdx.x;
    at = skew % (kSpan / kStep) * kStep;
    float4 sum = make_float4(0, 0, 0, 0);
    while (true) {
#pragma unroll 1
      for (int batch = 0; batch < 4; ++batch) {
        float4 piece[kReaderUnroll];
#pragma unroll
        for (int u = 0; u < kReaderUnroll; ++u) piece[u] = load_streaming(mine + at + u * kReaderThreads);
        add_batch(sum, piece);
        at += kStep;
        if (at >= kSpan) at = 0;
      }
      now = global_ns();
      if (from != 0) bytes += 4 * kReaderUnroll * 512;  // of the warp
      if (from == 0 && now >= warm) from = now;
      if (from != 0 && now >= from + window.length_ns) break;
    }
    keep(sum, sink);
    if (threadIdx.x % 32 == 0) window_add(totals, bytes, from, now);
  } else if (threadIdx.x < kVictimThreads) {
    constexpr int64_t kSpan = kVictimBytes / 16, kStep = int64_t{kVictimThreads} * kUnroll;
    const float4* source = victims_from + role * kSpan + threadIdx.x;
    float4* target = victims_to + role * kSpan + threadIdx.x;
    while (true) {
#pragma unroll 1
      for (int batch = 0; batch < 4; ++batch) {
        float4 piece[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(source + at + u * kVictimThreads);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) target[at + u * kVictimThreads] = piece[u];
        at += kStep;
        if (at >= kSpan) at = 0;
      }
      now = global_ns();
      if (from != 0) bytes += 4 * kUnroll * 512;
      if (from == 0 && now >= warm) from = now;
      if (from != 0 && now >= from + window.length_ns) break;
    }
    fence_sys();
    // Only half of the warps copy. Each adds its times twice, so that the mean over all warps in window_stamp() is
    // right. The bytes are therefore counted twice, and the evaluation halves them.
    if (threadIdx.x % 32 == 0) {
      window_add(totals, bytes, from, now);
      window_add(totals, bytes, from, now);
    }
  }
  window_stamp(stamps, totals);
}

class LoadedLatency {
 public:
  explicit LoadedLatency(Collector& c) : c_(c), order_(c.sms()) {
    CUDA_CHECK(cudaMalloc(&word_, sizeof *word_));
    CUDA_CHECK(cudaMalloc(&roles_, sizeof(int) * kMaxSms));
    std::iota(order_.begin(), order_.end(), 0);
  }
  ~LoadedLatency() {
    cudaFree(word_);
    cudaFree(roles_);
  }
  LoadedLatency(const LoadedLatency&) = delete;
  LoadedLatency& operator=(const LoadedLatency&) = delete;

  // Measures a case. Every repetition places victims and readers on other SMs: SMs of a GPC share its bandwidth, so a
  // single placement would not be representative.
  template <int kUnroll>
  void bench(int victims, int background, bool remote) {
    std::vector<double> background_rate;
    const std::vector<double> victim_rate = repeat(
        [&](int i) {
          std::shuffle(order_.begin(), order_.end(), random_);
          std::vector<int> role(kMaxSms, kIdle);
          for (int k = 0; k < victims; ++k) role[order_[k]] = k;
          for (int k = 0; k < background; ++k) role[order_[victims + k]] = kReader;
          CUDA_CHECK(cudaMemcpy(roles_, role.data(), sizeof(int) * kMaxSms, cudaMemcpyHostToDevice));
          CUDA_CHECK(cudaMemset(word_, 0, sizeof *word_));
          place_ = (place_ + 1) % kPlaces;
          const int64_t place = place_ * kVictimBytes * 4;
          loaded_kernel<kUnroll><<<c_.sms(), kReaderThreads>>>(
              roles_, c_.pool(0), int64_t{i} * 7, c_.pool(0) + (kVictimsFrom + place) / 16,
              c_.pool(remote ? 1 : 0) + (kVictimsTo + place) / 16, Window{word_, 40'000, 60'000, 400'000}, c_.sink(0),
              c_.stamps(0));
          CUDA_CHECK(cudaGetLastError());
          double copied = 0, read = 0;
          int workers = 0;
          for (const WgStamp& s : c_.read(0, c_.sms())) {
            if (role[s.sm] == kIdle) continue;
            ++workers;
            (role[s.sm] == kReader ? read : copied) += window_rate(s);
          }
          if (workers != victims + background)
            std::fprintf(stderr, "loaded_latency: %d SMs worked; %d would be right\n", workers, victims + background);
          if (i >= kWarmups) background_rate.push_back(read);
          return copied / 2 / victims;
        },
        kRuns);
    const Parameters p =
        Parameters()("victims", victims)("in_flight_bytes", kVictimThreads * 16 * kUnroll)("background", background)(
            "background_in_flight_bytes", kReaderThreads * 16 * kReaderUnroll)("remote", remote ? 1 : 0);
    c_.row("loaded_latency", p, "victim_bandwidth", victim_rate, "GB/s");
    c_.row("loaded_latency", p, "background_bandwidth", background_rate, "GB/s");
  }

 private:
  Collector& c_;
  unsigned long long* word_ = nullptr;
  int* roles_ = nullptr;
  std::vector<int> order_;  // of SMs
  std::mt19937 random_{1};
  int64_t place_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "loaded_latency", kPoolBytes);
  if (!c.wants("loaded_latency")) return 0;
  if (c.sms() * kReaderBytes > kVictimsFrom) {
    std::fprintf(stderr, "loaded_latency: the memory pool is too small for the SMs of this GPU\n");
    return 1;
  }
  LoadedLatency measure(c);
  for (const bool remote : {false, true}) {
    if (remote && c.gpus() < 2) {
      std::fprintf(stderr, "loaded_latency: remote victims skipped: they need two GPUs\n");
      break;
    }
    for (const int victims : {1, 4}) {
      for (const int background : {0, 16, 32, 64, 96}) {
        if (background + victims > c.sms()) continue;
        measure.bench<1>(victims, background, remote);
        measure.bench<4>(victims, background, remote);
        measure.bench<8>(victims, background, remote);
      }
    }
  }
  return 0;
}
