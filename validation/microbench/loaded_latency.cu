// loaded_latency: what copying WGs get beside WGs that read as much as they can.
#include <algorithm>
#include <set>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{10} << 30;
constexpr int64_t kBackgroundBytes = int64_t{64} << 20;  // of one background WG
constexpr int64_t kVictimBytes = int64_t{32} << 20;      // copied by a victim at most, in one window
constexpr int64_t kVictimsFrom = int64_t{6} << 30;       // sources; background WGs read below
constexpr int64_t kVictimsTo = int64_t{8} << 30;         // destinations, here or in the peer's pool
constexpr int kVictimThreads = 512;
constexpr int kBackgroundThreads = 1024;
constexpr int kBackgroundUnroll = 8;

// Copies a batch at a time for a window of time: loads kUnroll x 16 bytes a thread, then stores them.
template <int kUnroll>
__global__ void __launch_bounds__(kVictimThreads, 1)
    copy_window_kernel(const float4* from, float4* to, int64_t region, Window window, WgStamp* stamps) {
  __shared__ WindowTotals totals;
  constexpr int64_t kStep = int64_t{kVictimThreads} * kUnroll;
  from += blockIdx.x * region + threadIdx.x;
  to += blockIdx.x * region + threadIdx.x;
  window_enter(window, totals);
  const uint64_t warm = totals.begin + window.warm_ns;
  uint64_t now = 0, start = 0, bytes = 0;
  int64_t at = 0;
  while (true) {
#pragma unroll 1
    for (int batch = 0; batch < 4; ++batch) {
      float4 piece[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(from + at + u * kVictimThreads);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) to[at + u * kVictimThreads] = piece[u];
      at += kStep;
      if (at >= region) at = 0;
    }
    now = global_ns();
    if (start != 0) bytes += 4 * kUnroll * 512;
    if (start == 0 && now >= warm) start = now;
    if (start != 0 && now >= start + window.length_ns) break;
  }
  fence_sys();
  if (threadIdx.x % 32 == 0) window_add(totals, bytes, start, now);
  window_stamp(stamps, totals);
}

class LoadedLatency {
 public:
  explicit LoadedLatency(Collector& c) : c_(c) {
    CUDA_CHECK(cudaMalloc(&word_, sizeof *word_));
    CUDA_CHECK(cudaStreamCreateWithFlags(&readers_, cudaStreamNonBlocking));
  }
  ~LoadedLatency() {
    cudaFree(word_);
    cudaStreamDestroy(readers_);
  }
  LoadedLatency(const LoadedLatency&) = delete;
  LoadedLatency& operator=(const LoadedLatency&) = delete;

  template <int kUnroll>
  void bench(int victims, int background, bool remote) {
    std::vector<double> victim_rate, background_rate;
    int shared_sms = 0;
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      CUDA_CHECK(cudaSetDevice(0));
      CUDA_CHECK(cudaMemset(word_, 0, sizeof *word_));
      CUDA_CHECK(cudaDeviceSynchronize());
      const Window window{word_, 150'000, 60'000, 400'000};
      // A place of its own for every repetition: what was read or written before is not in the L2.
      place_ = (place_ + 1) % 16;
      const int64_t place = place_ * (kVictimBytes * 4);
      float4* to = c_.pool(remote ? 1 : 0) + (kVictimsTo + place) / 16;
      WgStamp* reader_stamps = c_.stamps(0) + 64;
      // The readers stay a little longer at both ends than the victims' window.
      const Window reading{word_, 150'000, 60'000, 420'000};
      if (background > 0) {
        read_window_kernel<kBackgroundThreads, kBackgroundUnroll><<<background, kBackgroundThreads, 0, readers_>>>(
            c_.pool(0), kBackgroundBytes / 16, kBackgroundBytes / 16, int64_t{i} * 977 * kBackgroundThreads, reading,
            c_.sink(0), reader_stamps);
        CUDA_CHECK(cudaGetLastError());
      }
      copy_window_kernel<kUnroll><<<victims, kVictimThreads, 0, c_.stream(0)>>>(
          c_.pool(0) + (kVictimsFrom + place) / 16, to, kVictimBytes / 16, window, c_.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      const std::vector<WgStamp> all = c_.read(0, 64 + background);
      if (i < kWarmups) continue;
      double sum = 0;
      std::set<uint32_t> victim_sms;
      for (int w = 0; w < victims; ++w) {
        sum += window_rate(all[w]);
        victim_sms.insert(all[w].sm);
      }
      victim_rate.push_back(sum / victims);
      double read = 0;
      for (int w = 64; w < 64 + background; ++w) {
        read += window_rate(all[w]);
        shared_sms += victim_sms.count(all[w].sm) > 0 ? 1 : 0;
        if (all[w].start_ns > all[0].start_ns + 50'000) late_ = true;
      }
      background_rate.push_back(read);
    }
    if (shared_sms > 0)
      std::fprintf(stderr, "loaded_latency: %d victims, %d readers: %d times on one SM\n", victims, background,
                   shared_sms);
    if (late_) std::fprintf(stderr, "loaded_latency: readers began late\n");
    const Parameters p =
        Parameters()("victims", victims)("in_flight_bytes", kVictimThreads * 16 * kUnroll)("background", background)(
            "background_in_flight_bytes", kBackgroundThreads * 16 * kBackgroundUnroll)("remote", remote ? 1 : 0);
    c_.row("loaded_latency", p, "victim_bandwidth", victim_rate, "GB/s");
    c_.row("loaded_latency", p, "background_bandwidth", background_rate, "GB/s");
  }

 private:
  Collector& c_;
  unsigned long long* word_ = nullptr;
  cudaStream_t readers_ = nullptr;
  bool late_ = false;
  int64_t place_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "loaded_latency", kPoolBytes);
  if (!c.wants("loaded_latency")) return 0;
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
