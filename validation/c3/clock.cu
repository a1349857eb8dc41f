// Measures the clock of an SM while GEMMs and streams run: a workgroup of one warp records the SM's cycle counter and
// the GPU's timer. Writes rows of the measurements file: clock (MHz, in windows of time counted from the start of the
// work), busy_time (us of each GEMM of a series with idle time between them), and victim_* (the rate of one workgroup
// beside the work).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cast.hpp"
#include "clock_sampler.cuh"
#include "cuda_check.hpp"
#include "harness.hpp"
#include "statistics.hpp"
#include "stream.hpp"

namespace {

constexpr int kSamples = 1 << 14;
constexpr int kRounds = 5;

// A workgroup that runs beside the GEMMs and streams, and counts its dependent loads (chase) or the bytes that it
// copies within the GPU (copy) or to a peer (copy_peer).
enum class Victim { chase, copy, copy_peer };
constexpr int kVictimThreads = 512;
constexpr int64_t kVictimVectors = int64_t{1} << 24;  // vectors of 16 bytes; far more than the L2 holds

template <int Unroll>
__device__ void copy_batch(const float4* from, float4* to, int64_t at) {
  float4 batch[Unroll];
#pragma unroll
  for (int i = 0; i < Unroll; ++i) batch[i] = __ldcs(from + at + i * kVictimThreads);
#pragma unroll
  for (int i = 0; i < Unroll; ++i) __stcs(to + at + i * kVictimThreads, batch[i]);
}

template <int Unroll>
__global__ void __launch_bounds__(kVictimThreads)
    copier(ClockSample* samples, const float4* from, float4* to, const uint32_t* stop, uint32_t epoch) {
  constexpr int64_t kBatch = int64_t{kVictimThreads} * Unroll;
  uint64_t bytes = 0;
  int count = 0;
  for (int64_t at = threadIdx.x;; at = at + kBatch < kVictimVectors - kBatch ? at + kBatch : threadIdx.x) {
    copy_batch<Unroll>(from, to, at);
    bytes += kBatch * sizeof(float4);
    bool end = false;
    if (threadIdx.x == 0 && (bytes / (kBatch * sizeof(float4))) % 8 == 0) {
      samples[count] = {global_ns(), bytes};
      if (++count == kSamples) count = kSamples - 1;
      end = load_relaxed_sys(stop) == epoch;
      if (end) samples[count].ns = 0;
    }
    if (__syncthreads_or(end) != 0) return;
  }
}

__global__ void chaser(ClockSample* samples, const uint32_t* ring, const uint32_t* stop, uint32_t epoch) {
  uint32_t at = 0;
  uint64_t loads = 0;
  for (int count = 0;; count = min(count + 1, kSamples - 1)) {
    for (int i = 0; i < 32; ++i) at = __ldcv(ring + int64_t{at} * 32);
    loads += 32;
    samples[count] = {global_ns() + (at == UINT32_MAX ? 1 : 0), loads};
    if (load_relaxed_sys(stop) == epoch) {
      samples[count].ns = 0;
      return;
    }
  }
}

struct Load {
  std::string name;
  Parameters parameters;
  Work* work;
  int times;       // how often the work runs
  double idle_ms;  // idle time between two runs of the work
};

class Bench {
 public:
  explicit Bench(Collector& c) : c_(c) {
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaMalloc(&samples_, sizeof(ClockSample) * kSamples));
    CUDA_CHECK(cudaMalloc(&stamps_, sizeof(uint64_t) * 2 * kMostTimes));
    CUDA_CHECK(cudaMalloc(&stop_, 256));
    CUDA_CHECK(cudaMemset(stop_, 0, 256));
    CUDA_CHECK(cudaStreamCreateWithFlags(&watch_, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&stop_stream_, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_CHECK(cudaHostAlloc(&epochs_, sizeof(uint32_t), cudaHostAllocPortable));
    CUDA_CHECK(cudaMalloc(&from_, kVictimVectors * sizeof(float4)));
    CUDA_CHECK(cudaMalloc(&to_, kVictimVectors * sizeof(float4)));
    CUDA_CHECK(cudaMemset(to_, 0, kVictimVectors * sizeof(float4)));
    // Makes one cycle of pointers through all lines of 128 bytes. Successive lines of the cycle are far apart in
    // memory.
    const int64_t lines = kVictimVectors / 8;
    std::vector<uint32_t> ring(lines * 32);
    for (int64_t i = 0; i < lines; ++i) ring[(i * 40503 % lines) * 32] = uint32_t((i + 1) * 40503 % lines);
    CUDA_CHECK(cudaMemcpy(from_, ring.data(), ring.size() * 4, cudaMemcpyHostToDevice));
    if (c.gpus() > 1) {
      CUDA_CHECK(cudaSetDevice(1));
      CUDA_CHECK(cudaMalloc(&peer_, kVictimVectors * sizeof(float4)));
      CUDA_CHECK(cudaSetDevice(0));
    }
  }

  // Measures the victim's rate while `work` runs `times` times. If `work` is null, only the victim runs.
  void run_victim(Victim victim, int unroll, const Parameters& background, Work* work, int times) {
    if (victim == Victim::copy_peer && peer_ == nullptr) return;
    std::vector<double> rate;
    for (int round = 0; round < kRounds + 1; ++round) {
      ++epoch_;
      float4* to = victim == Victim::copy_peer ? peer_ : to_;
      if (victim == Victim::chase) {
        chaser<<<1, 1, 0, watch_>>>(samples_, reinterpret_cast<uint32_t*>(from_), stop_, epoch_);
      } else if (unroll == 1) {
        copier<1><<<1, kVictimThreads, 0, watch_>>>(samples_, from_, to, stop_, epoch_);
      } else {
        copier<8><<<1, kVictimThreads, 0, watch_>>>(samples_, from_, to, stop_, epoch_);
      }
      CUDA_CHECK(cudaGetLastError());
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      stamp_time<<<1, 1, 0, stream_>>>(stamps_);
      for (int i = 0; i < times && work != nullptr; ++i) work->enqueue({stream_});
      stamp_time<<<1, 1, 0, stream_>>>(stamps_ + 1);
      CUDA_CHECK(cudaStreamSynchronize(stream_));
      if (work == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      end_watch();
      std::vector<ClockSample> samples(kSamples);
      uint64_t stamps[2];
      CUDA_CHECK(cudaMemcpy(samples.data(), samples_, sizeof(ClockSample) * kSamples, cudaMemcpyDeviceToHost));
      CUDA_CHECK(cudaMemcpy(stamps, stamps_, sizeof stamps, cudaMemcpyDeviceToHost));
      if (round == 0) continue;
      // Only the middle of the time counts, when the work has certainly begun and not yet ended.
      const double begin = double(stamps[0]) + (work == nullptr ? 0 : 300e3);
      const double end = work == nullptr ? begin + 2e6 : double(stamps[1]) - 100e3;
      const ClockSample* first = nullptr;
      const ClockSample* last = nullptr;
      for (const ClockSample& s : samples) {
        if (s.ns == 0) break;
        if (first == nullptr && double(s.ns) >= begin) first = &s;
        if (double(s.ns) <= end) last = &s;
      }
      if (first != nullptr && last > first)
        rate.push_back(double(last->cycles - first->cycles) / double(last->ns - first->ns));
    }
    Parameters p = background;
    p("unroll", unroll);
    const char* name = victim == Victim::chase  ? "victim_chase"
                       : victim == Victim::copy ? "victim_copy"
                                                : "victim_peer";
    if (victim == Victim::chase) {
      for (double& r : rate) r = 1 / r;
      c_.row(name, p, "latency", rate, "ns");
    } else {
      c_.row(name, p, "bandwidth", rate, "GB/s");
    }
  }

  void run(const Load& load, double window_us) {
    std::vector<std::vector<double>> mhz, busy(load.times);
    for (int round = 0; round < kRounds; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      once(load, window_us, mhz, busy);
    }
    for (size_t w = 0; w < mhz.size(); ++w) {
      if (mhz[w].size() < kRounds) continue;
      Parameters p = load.parameters;
      p("window_us", int64_t(window_us))("from_us", int64_t(double(w) * window_us));
      c_.row("clock", p, "clock", mhz[w], "MHz");
    }
    for (int i = 0; i < load.times; ++i) {
      Parameters p = load.parameters;
      p("number", i);
      c_.row("busy_time", p, "time", busy[i], "us");
    }
  }

 private:
  static constexpr int kMostTimes = 256;
  static constexpr int kBefore = 2;  // windows before the start of the work

  void end_watch() {
    *epochs_ = epoch_;
    CUDA_CHECK(cudaMemcpyAsync(stop_, epochs_, sizeof(uint32_t), cudaMemcpyHostToDevice, stop_stream_));
    CUDA_CHECK(cudaStreamSynchronize(stop_stream_));
    CUDA_CHECK(cudaStreamSynchronize(watch_));
  }

  void once(const Load& load, double window_us, std::vector<std::vector<double>>& mhz,
            std::vector<std::vector<double>>& busy) {
    ++epoch_;
    const double expected_us = 400 + load.times * (2000 + load.idle_ms * 1e3);
    const auto interval = uint64_t(std::max(2000.0, expected_us * 1e3 / (kSamples - 2)));
    sample_clock<<<1, 32, 0, watch_>>>(samples_, kSamples, interval, 0, stop_, epoch_);
    CUDA_CHECK(cudaGetLastError());
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    for (int i = 0; i < load.times; ++i) {
      if (i > 0 && load.idle_ms > 0) {
        CUDA_CHECK(cudaStreamSynchronize(stream_));
        const double until = now_seconds() + load.idle_ms * 1e-3;
        while (now_seconds() < until) {
        }
      }
      stamp_time<<<1, 1, 0, stream_>>>(stamps_ + 2 * i);
      load.work->enqueue({stream_});
      stamp_time<<<1, 1, 0, stream_>>>(stamps_ + 2 * i + 1);
    }
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    end_watch();
    std::vector<ClockSample> samples(kSamples);
    std::vector<uint64_t> stamps(2 * load.times);
    CUDA_CHECK(cudaMemcpy(samples.data(), samples_, sizeof(ClockSample) * kSamples, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(stamps.data(), stamps_, sizeof(uint64_t) * stamps.size(), cudaMemcpyDeviceToHost));
    size_t count = 0;
    while (count < samples.size() && samples[count].ns != 0) ++count;
    for (int i = 0; i < load.times; ++i) busy[i].push_back(double(stamps[2 * i + 1] - stamps[2 * i]) * 1e-3);
    // The first window begins kBefore windows before the first time stamp, that is, before the work starts.
    const double begin = double(stamps[0]) - kBefore * window_us * 1e3;
    size_t at = 0;
    const double end = double(stamps.back());
    for (size_t w = 0; begin + double(w + 1) * window_us * 1e3 < end + 4 * window_us * 1e3; ++w) {
      while (at < count && double(samples[at].ns) < begin + double(w) * window_us * 1e3) ++at;
      size_t last = at;
      while (last + 1 < count && double(samples[last + 1].ns) < begin + double(w + 1) * window_us * 1e3) ++last;
      if (last <= at || last >= count) break;
      if (mhz.size() <= w) mhz.resize(w + 1);
      mhz[w].push_back(clock_between(samples[at], samples[last]));
    }
  }

  Collector& c_;
  ClockSample* samples_ = nullptr;
  uint64_t* stamps_ = nullptr;
  uint32_t* stop_ = nullptr;
  uint32_t* epochs_ = nullptr;
  uint32_t epoch_ = 0;
  float4* from_ = nullptr;
  float4* to_ = nullptr;
  float4* peer_ = nullptr;
  cudaStream_t watch_ = nullptr, stop_stream_ = nullptr, stream_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  // The GEMM library is large, so each of its kernels is loaded when it is first used.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  Collector c(argc, argv, "c3_clock", 0);
  const std::vector<ComputeShape> shapes = {
      {"square_8192", 8192, 8192, 8192, 0}, {"square_4096", 4096, 4096, 4096, 0},
      {"one_wave", 512, 8192, 8192, 0},     {"two_waves", 1024, 8192, 8192, 0},
      {"decode", 64, 57344, 8192, 0},       {"stream", 0, 0, 0, int64_t{1} << 30}};
  const Operands operands(1, shapes);
  std::vector<std::unique_ptr<Work>> works;
  for (const ComputeShape& s : shapes) {
    if (s.is_stream()) {
      StreamShape stream;
      stream.bytes = s.stream_bytes;
      stream.sms = c.sms();
      works.push_back(make_stream(operands, stream));
    } else {
      works.push_back(Gemm::create(operands, s, 0));
    }
  }
  CUDA_CHECK(cudaSetDevice(0));
  for (auto& work : works) work->enqueue({c.stream(0)});
  CUDA_CHECK(cudaStreamSynchronize(c.stream(0)));
  Bench bench(c);
  const auto parameters = [&](size_t i, int times, double idle_ms, bool zeros) {
    Parameters p;
    p("m", shapes[i].m)("n", shapes[i].n)("k", shapes[i].k)("stream_bytes", shapes[i].stream_bytes);
    p("zeros", zeros)("times", times)("idle_us", int64_t(idle_ms * 1e3));
    return p;
  };
  for (const bool zeros : {false, true}) {
    if (zeros) {
      size_t bytes = size_t{57344} * 8192 * 2;
      CUDA_CHECK(cudaMemset(operands.b(0), 0, bytes));
      CUDA_CHECK(cudaMemset(operands.a(0), 0, size_t{8192} * 8192 * 2));
      CUDA_CHECK(cudaDeviceSynchronize());
    }
    for (size_t i = 0; i < works.size(); ++i) {
      if (zeros && i > 1) continue;
      bench.run({"one", parameters(i, 1, 0, zeros), works[i].get(), 1, 0}, i == 0 || i == 5 ? 50 : 20);
    }
    const auto victims = [&](const Parameters& background, Work* work, int times) {
      bench.run_victim(Victim::chase, 1, background, work, times);
      for (const int unroll : {1, 8}) {
        bench.run_victim(Victim::copy, unroll, background, work, times);
        bench.run_victim(Victim::copy_peer, unroll, background, work, times);
      }
    };
    if (!zeros) victims(Parameters()("m", 0)("n", 0)("k", 0)("stream_bytes", 0)("zeros", 0)("times", 0), nullptr, 0);
    for (size_t i = 0; i < works.size(); ++i)
      if (i == 0 || (!zeros && i >= 4)) victims(parameters(i, 4, 0, zeros), works[i].get(), i == 0 ? 3 : 8);
    bench.run({"row", parameters(0, 32, 0, zeros), works[0].get(), 32, 0}, 500);
    bench.run({"row", parameters(1, 128, 0, zeros), works[1].get(), 128, 0}, 500);
    if (zeros) continue;
    for (const double idle : {0.1, 0.3, 1.0, 3.0, 10.0})
      bench.run({"row", parameters(0, 24, idle, zeros), works[0].get(), 24, idle}, 500);
  }
  return 0;
}
