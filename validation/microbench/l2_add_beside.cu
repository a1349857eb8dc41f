// l2_add_beside: the rate of copying WGs (victims) beside WGs that add to 64-bit words in the L2. Kernels of
// collectives copy like the victims, and codecs that assemble compressed data from bits add like the others.
#include <algorithm>
#include <numeric>
#include <random>

#include "access.cuh"
#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr int64_t kAdderBytes = int64_t{64} << 10;   // of one SM; all SMs together fit into the L2
constexpr int64_t kVictimBytes = int64_t{32} << 20;  // of one victim; more than it copies in a window
constexpr int64_t kVictimsFrom = int64_t{1} << 30;   // sources of the victims
constexpr int64_t kVictimsTo = int64_t{5} << 30;     // destinations of the victims, here or in the peer's pool
constexpr int64_t kPoolBytes = int64_t{9} << 30;
constexpr int kPlaces = 4;  // per victim, used in turn, so that the L2 holds none of them
constexpr int kVictimThreads = 512;
constexpr int kThreadsOfWg = 1024;
constexpr int kMostSms = 256;
constexpr int kLanesPerWord = 2;
constexpr int kRuns = 7;  // placements

enum Role : int { kIdle = -2, kAdder = -1 };  // roles from 0 on are numbers of victims

// One WG on every SM, whose role is that of the SM. A victim uses half of the threads: each loads kUnroll x 16 bytes
// and then stores them. `operations`: integer operations of a thread between two additions.
template <int kUnroll>
__global__ void __launch_bounds__(kThreadsOfWg, 1)
    beside_kernel(const int* roles, unsigned long long* words, int operations, const float4* from_all, float4* to_all,
                  Window window, float* sink, WgStamp* stamps) {
  __shared__ WindowTotals totals;
  const int role = roles[sm_id()];
  window_enter(window, totals);
  const uint64_t warm = totals.begin + window.warm_ns;
  uint64_t now = 0, from = 0, bytes = 0;
  if (role == kIdle) {
    if (threadIdx.x == 0) stamps[blockIdx.x] = {totals.begin, totals.begin, 0, sm_id(), 0};
    return;
  }
  if (role == kAdder) {
    constexpr int64_t kWords = kAdderBytes / 8, kStep = kThreadsOfWg / kLanesPerWord;
    unsigned long long* mine = words + sm_id() * kWords + threadIdx.x / kLanesPerWord;
    int64_t at = 0;
    uint32_t x = threadIdx.x + 1;
    while (true) {
#pragma unroll 1
      for (int r = 0; r < 8; ++r) {
#pragma unroll 1
        for (int i = 0; i < operations; i += 4) {
          x = x * 1664525U + 1013904223U;
          x ^= x >> 13;
        }
        asm volatile("red.global.add.u64 [%0], %1;" ::"l"(mine + at), "l"(uint64_t{x & 1U}) : "memory");
        at += kStep;
        if (at >= kWords) at = 0;
      }
      now = global_ns();
      if (from != 0) bytes += 8 * 32 / kLanesPerWord * 8;  // of the warp
      if (from == 0 && now >= warm) from = now;
      if (from != 0 && now >= from + window.length_ns) break;
    }
    if (x == 0x12345678U) *sink = float(x);
    if (threadIdx.x % 32 == 0) window_add(totals, bytes, from, now);
  } else if (threadIdx.x < kVictimThreads) {
    constexpr int64_t kSpan = kVictimBytes / 16, kStep = int64_t{kVictimThreads} * kUnroll;
    const float4* source = from_all + role * kSpan + threadIdx.x;
    float4* target = to_all + role * kSpan + threadIdx.x;
    int64_t at = 0;
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
    // Only half of the warps add their values. They add them twice, so that window_stamp()'s mean over all warps is
    // right; the reader of the bytes halves them.
    if (threadIdx.x % 32 == 0) {
      window_add(totals, bytes, from, now);
      window_add(totals, bytes, from, now);
    }
  }
  window_stamp(stamps, totals);
}

class AddBeside {
 public:
  explicit AddBeside(Collector& c) : c_(c), order_(size_t(c.sms())) {
    CUDA_CHECK(cudaMalloc(&word_, sizeof *word_));
    CUDA_CHECK(cudaMalloc(&roles_, sizeof(int) * kMostSms));
    std::iota(order_.begin(), order_.end(), 0);
  }
  ~AddBeside() {
    cudaFree(word_);
    cudaFree(roles_);
  }
  AddBeside(const AddBeside&) = delete;
  AddBeside& operator=(const AddBeside&) = delete;

  // Every repetition places victims and adders on other SMs, because neighbours in a GPC share its bandwidth.
  template <int kUnroll>
  void bench(int victims, int adders, int operations, bool remote) {
    std::vector<double> add_rate;
    const std::vector<double> victim_rate = repeat(
        [&](int i) {
          std::shuffle(order_.begin(), order_.end(), random_);
          std::vector<int> role(kMostSms, kIdle);
          for (int k = 0; k < victims; ++k) role[size_t(order_[size_t(k)])] = k;
          for (int k = 0; k < adders; ++k) role[size_t(order_[size_t(victims + k)])] = kAdder;
          CUDA_CHECK(cudaMemcpy(roles_, role.data(), sizeof(int) * kMostSms, cudaMemcpyHostToDevice));
          CUDA_CHECK(cudaMemset(word_, 0, sizeof *word_));
          place_ = (place_ + 1) % kPlaces;
          const int64_t place = place_ * kVictimBytes * 24;
          beside_kernel<kUnroll><<<c_.sms(), kThreadsOfWg>>>(
              roles_, reinterpret_cast<unsigned long long*>(c_.pool(0)), operations,
              c_.pool(0) + (kVictimsFrom + place) / 16, c_.pool(remote ? 1 : 0) + (kVictimsTo + place) / 16,
              Window{word_, 40'000, 60'000, 400'000}, c_.sink(0), c_.stamps(0));
          CUDA_CHECK(cudaGetLastError());
          double copied = 0, added = 0;
          int workers = 0;
          for (const WgStamp& s : c_.read(0, c_.sms())) {
            if (role[s.sm] == kIdle) continue;
            ++workers;
            (role[s.sm] == kAdder ? added : copied) += window_rate(s);
          }
          if (workers != victims + adders)
            std::fprintf(stderr, "l2_add_beside: %d SMs worked; %d would be right\n", workers, victims + adders);
          if (i >= kWarmups) add_rate.push_back(added);
          return copied / 2 / victims;
        },
        kRuns);
    const Parameters p = Parameters()("victims", victims)("in_flight_bytes", kVictimThreads * 16 * kUnroll)(
        "adders", adders)("operations", operations)("remote", remote ? 1 : 0);
    c_.row("l2_add_beside", p, "victim_bandwidth", victim_rate, "GB/s");
    c_.row("l2_add_beside", p, "add_bandwidth", add_rate, "GB/s");
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
  Collector c(argc, argv, "l2_add_beside", kPoolBytes);
  if (!c.wants("l2_add_beside")) return 0;
  AddBeside measure(c);
  for (const bool remote : {false, true}) {
    if (remote && c.gpus() < 2) {
      std::fprintf(stderr, "l2_add_beside: remote victims skipped: they need two GPUs\n");
      break;
    }
    for (const int victims : {1, 8, 24})
      for (const int operations : {-1, 1024, 512, 256, 128, 64, 0}) {  // -1: without adders
        const int adders = operations < 0 ? 0 : c.sms() - victims;
        measure.bench<1>(victims, adders, std::max(0, operations), remote);
        measure.bench<4>(victims, adders, std::max(0, operations), remote);
        measure.bench<8>(victims, adders, std::max(0, operations), remote);
      }
  }
  return 0;
}
