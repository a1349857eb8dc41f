// Measures what a GPU does right after a load of GEMMs that holds it at its power limit, and after a pause: the clock
// of an SM while another GEMM begins, the time of this GEMM, the latency of loads and the rate of reads. load=0 is the
// same on a GPU that was idle before. With --grid FILE, it only measures the clock while the GEMMs of the file begin on
// a GPU that was idle, in shorter windows. Writes rows of the measurements file.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "cast.hpp"
#include "clock_sampler.cuh"
#include "cuda_check.hpp"
#include "evict_l2.hpp"
#include "gemm.hpp"
#include "grid.hpp"
#include "harness.hpp"

namespace {

constexpr int kSamples = 1 << 14;
constexpr uint64_t kIntervalNs = 1000;
constexpr int kRounds = 9, kWarmUps = 2;
constexpr int kLoad = 60;          // GEMMs of 8192^3, 100 ms
constexpr double kLoadUs = 1650;   // of one of them
constexpr uint64_t kHoldUs = 300;  // the host enqueues the rest meanwhile
constexpr int kWindowUs = 10, kShortWindowUs = 5;
constexpr int kWindowsBefore = 2;  // windows before the GEMM begins
constexpr int kWindows = 64;       // at most
constexpr int kHops = 300;         // dependent loads of one thread
constexpr uint32_t kLineWords = 128 / 4;
constexpr int kReadThreads = 512, kReadUnroll = 8, kReadWgsPerSm = 2;

__global__ void pause(uint64_t ns) {
  const uint64_t begin = global_ns();
  while (global_ns() < begin + ns) {
  }
}

struct Timed {
  ClockSample begin, end;
};

// One thread issues one dependent load after another.
__global__ void chase(const uint32_t* next, uint32_t at, int warm_hops, Timed* timed, uint32_t* sink) {
  for (int i = 0; i < warm_hops; ++i) at = __ldcg(next + at);
  timed->begin = clock_sample();
  for (int i = 0; i < kHops; ++i) at = __ldcg(next + at);
  *sink = at;
  // The sample depends on `at`, so that it is taken after the last load has returned.
  ClockSample end = clock_sample();
  end.ns += at == UINT32_MAX ? 1 : 0;
  timed->end = end;
}

// Links all cache lines to one cycle by a linear congruential generator of full period.
__global__ void link_lines(uint32_t* next, uint32_t lines) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
    next[i * kLineWords] = ((1664525U * i + 1013904223U) & (lines - 1)) * kLineWords;
}

// All workgroups together read `vectors` vectors `times` times.
__global__ void __launch_bounds__(kReadThreads) read(const float4* from, int64_t vectors, int times, float* sink) {
  float sum = 0;
  constexpr int64_t kBatch = int64_t{kReadThreads} * kReadUnroll;
  for (int t = 0; t < times; ++t) {
    for (int64_t at = blockIdx.x * kBatch; at + kBatch <= vectors; at += gridDim.x * kBatch) {
      float4 batch[kReadUnroll];
#pragma unroll
      for (int i = 0; i < kReadUnroll; ++i) batch[i] = __ldcg(from + at + i * kReadThreads + threadIdx.x);
#pragma unroll
      for (int i = 0; i < kReadUnroll; ++i) sum += batch[i].x;
    }
  }
  if (sum == 1) *sink = sum;
}

class Bench {
 public:
  Bench(Collector& c, Work& load, int window_us) : c_(c), load_(load), window_us_(window_us) {
    CUDA_CHECK(cudaMalloc(&samples_, sizeof(ClockSample) * kSamples));
    CUDA_CHECK(cudaMalloc(&stamps_, sizeof(uint64_t) * 2));
    CUDA_CHECK(cudaMalloc(&timed_, sizeof(Timed)));
    CUDA_CHECK(cudaMalloc(&stop_, 256));
    CUDA_CHECK(cudaMemset(stop_, 0, 256));
    CUDA_CHECK(cudaMalloc(&flush_, kFlushBytes));
    CUDA_CHECK(cudaMemset(flush_, 0, kFlushBytes));
    CUDA_CHECK(cudaMalloc(&pool_, kPoolBytes));
    CUDA_CHECK(cudaMemset(pool_, 0, kPoolBytes));
    CUDA_CHECK(cudaMalloc(&sink_, 256));
    CUDA_CHECK(cudaHostAlloc(&epochs_, sizeof(uint32_t), cudaHostAllocPortable));
    for (cudaStream_t* stream : {&watch_, &stop_stream_, &stream_})
      CUDA_CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  // The GEMM begins after kHoldUs and, if `evicts`, an eviction of the L2, as in the pairs (Stage::run). If `gap_us` is
  // not negative, the GEMM runs twice with so much idle time between, and the second one counts.
  void gemm(const ComputeShape& shape, Work& work, bool loaded, bool evicts, int gap_us) {
    std::vector<std::vector<double>> mhz(kWindows);
    std::vector<double> us;
    for (int round = 0; round < kWarmUps + kRounds; ++round) {
      ++epoch_;
      enqueue_load(loaded);
      sample_clock<<<1, 32, 0, watch_>>>(samples_, kSamples, kIntervalNs, 0, stop_, epoch_);
      pause<<<1, 1, 0, stream_>>>(kHoldUs * 1000);
      if (evicts) launch_evict_l2(stream_, flush_, c_.sms());
      if (gap_us >= 0) work.enqueue({stream_});
      if (gap_us > 0) pause<<<1, 1, 0, stream_>>>(uint64_t(gap_us) * 1000);
      stamp_time<<<1, 1, 0, stream_>>>(stamps_);
      work.enqueue({stream_});
      stamp_time<<<1, 1, 0, stream_>>>(stamps_ + 1);
      CUDA_CHECK(cudaStreamSynchronize(stream_));
      end_watch();
      if (round >= kWarmUps) note(mhz, us);
    }
    const auto parameters = [&] {
      Parameters p = Parameters()("m", shape.m)("n", shape.n)("k", shape.k)("load", loaded)("evict", evicts);
      if (gap_us >= 0) p("gap_us", gap_us);
      return p;
    };
    c_.row("after_load", parameters(), "time", us, "us");
    for (int w = 0; w < kWindows; ++w) {
      if (mhz[w].size() < kRounds) continue;
      Parameters p = parameters();
      p("from_us", int64_t(w * window_us_));  // from the begin of the first window
      c_.row("after_load", p, "clock", mhz[w], "MHz");
    }
  }

  void latency(bool loaded, int64_t footprint) {
    auto* words = reinterpret_cast<uint32_t*>(pool_);
    const auto lines = uint32_t(footprint / 128);
    link_lines<<<c_.sms() * 8, 256, 0, stream_>>>(words, lines);
    std::vector<double> ns, mhz;
    for (int round = 0; round < kWarmUps + kRounds; ++round) {
      enqueue_load(loaded);
      const uint32_t first = (uint32_t(round) * 0x9e3779b1U & (lines - 1)) * kLineWords;
      chase<<<1, 1, 0, stream_>>>(words, first, footprint > (1 << 20) ? 8 : int(lines), timed_, sink_);
      const Timed t = timed();
      if (round < kWarmUps) continue;
      ns.push_back(double(t.end.ns - t.begin.ns) / kHops);
      mhz.push_back(clock_between(t.begin, t.end));
    }
    const Parameters p = Parameters()("footprint_bytes", footprint)("load", loaded);
    c_.row("chase_after_load", p, "latency", ns, "ns");
    c_.row("chase_after_load", p, "clock", mhz, "MHz");
  }

  void rate(bool loaded, int64_t footprint) {
    const int64_t vectors = footprint / 16;
    const int times = int(std::max<int64_t>(1, (int64_t{512} << 20) / footprint));
    std::vector<double> rate;
    for (int round = 0; round < kWarmUps + kRounds; ++round) {
      enqueue_load(loaded);
      const int wgs = c_.sms() * kReadWgsPerSm;
      read<<<wgs, kReadThreads, 0, stream_>>>(reinterpret_cast<float4*>(pool_), vectors, 2,
                                              reinterpret_cast<float*>(sink_));
      stamp_time<<<1, 1, 0, stream_>>>(stamps_);
      read<<<wgs, kReadThreads, 0, stream_>>>(reinterpret_cast<float4*>(pool_), vectors, times,
                                              reinterpret_cast<float*>(sink_));
      stamp_time<<<1, 1, 0, stream_>>>(stamps_ + 1);
      CUDA_CHECK(cudaStreamSynchronize(stream_));
      uint64_t stamps[2];
      CUDA_CHECK(cudaMemcpy(stamps, stamps_, sizeof stamps, cudaMemcpyDeviceToHost));
      if (round >= kWarmUps) rate.push_back(double(footprint) * times / double(stamps[1] - stamps[0]));
    }
    c_.row("read_after_load", Parameters()("footprint_bytes", footprint)("load", loaded), "bandwidth", rate, "GB/s");
  }

 private:
  static constexpr int64_t kPoolBytes = int64_t{8} << 30;

  // Enqueues the load, and returns when most of it has run, so that samples of the clock begin shortly before its end.
  void enqueue_load(bool loaded) {
    if (!loaded) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return;
    }
    for (int i = 0; i < kLoad; ++i) load_.enqueue({stream_});
    std::this_thread::sleep_for(std::chrono::microseconds(int64_t(kLoad * kLoadUs * 0.95)));
  }

  void end_watch() {
    *epochs_ = epoch_;
    CUDA_CHECK(cudaMemcpyAsync(stop_, epochs_, sizeof(uint32_t), cudaMemcpyHostToDevice, stop_stream_));
    CUDA_CHECK(cudaStreamSynchronize(stop_stream_));
    CUDA_CHECK(cudaStreamSynchronize(watch_));
  }

  Timed timed() {
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    Timed t{};
    CUDA_CHECK(cudaMemcpy(&t, timed_, sizeof t, cudaMemcpyDeviceToHost));
    return t;
  }

  void note(std::vector<std::vector<double>>& mhz, std::vector<double>& us) {
    std::vector<ClockSample> samples(kSamples);
    uint64_t stamps[2];
    CUDA_CHECK(cudaMemcpy(samples.data(), samples_, sizeof(ClockSample) * kSamples, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(stamps, stamps_, sizeof stamps, cudaMemcpyDeviceToHost));
    us.push_back(double(stamps[1] - stamps[0]) * 1e-3);
    size_t count = 0;
    while (count < samples.size() && samples[count].ns != 0) ++count;
    const auto at = [&](double ns) {
      const auto later = [](const ClockSample& s, double t) { return double(s.ns) < t; };
      return size_t(std::lower_bound(samples.begin(), samples.begin() + long(count), ns, later) - samples.begin());
    };
    for (int w = 0; w < kWindows; ++w) {
      const double begin = double(stamps[0]) + (w - kWindowsBefore) * window_us_ * 1e3;
      if (begin + window_us_ * 1e3 > double(stamps[1])) break;  // only windows within the GEMM, and those before it
      const size_t first = at(begin), last = at(begin + window_us_ * 1e3);
      if (first > 0 && last > first && last < count) mhz[w].push_back(clock_between(samples[first], samples[last]));
    }
  }

  Collector& c_;
  Work& load_;
  int window_us_;
  ClockSample* samples_ = nullptr;
  uint64_t* stamps_ = nullptr;
  Timed* timed_ = nullptr;
  uint32_t* stop_ = nullptr;
  uint32_t* epochs_ = nullptr;
  uint32_t* sink_ = nullptr;
  uint32_t epoch_ = 0;
  uint4* flush_ = nullptr;
  char* pool_ = nullptr;
  cudaStream_t watch_ = nullptr, stop_stream_ = nullptr, stream_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  // The GEMM library is large, so each of its kernels is loaded when it is first used.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  Collector c(argc, argv, "c3_after_load", 0);
  const std::string grid = c.option("--grid", "");
  std::vector<ComputeShape> shapes = {{"load", 8192, 8192, 8192},      {"one_wave", 512, 8192, 8192},
                                      {"two_waves", 1024, 8192, 8192}, {"square_4096", 4096, 4096, 4096},
                                      {"narrow", 3072, 1280, 8192},    {"decode", 64, 57344, 8192}};
  if (!grid.empty()) shapes = distinct_shapes(read_pairs(grid));
  const Operands operands(1, shapes);
  std::vector<std::unique_ptr<Gemm>> gemms;
  for (const ComputeShape& s : shapes) gemms.push_back(Gemm::create(operands, s, 0));
  CUDA_CHECK(cudaSetDevice(0));
  for (auto& gemm : gemms) gemm->enqueue({c.stream(0)});
  CUDA_CHECK(cudaStreamSynchronize(c.stream(0)));
  Bench bench(c, *gemms[0], grid.empty() ? kWindowUs : kShortWindowUs);
  if (!grid.empty()) {
    for (size_t i = 0; i < shapes.size(); ++i) bench.gemm(shapes[i], *gemms[i], false, true, -1);
    return 0;
  }
  for (const bool loaded : {false, true}) {
    if (c.wants("chase_after_load"))
      for (const int64_t footprint : {int64_t{512} << 10, int64_t{8} << 30}) bench.latency(loaded, footprint);
    if (c.wants("read_after_load"))
      for (const int64_t mib : {16, 24, 1024}) bench.rate(loaded, mib << 20);
    if (!c.wants("after_load")) continue;
    for (size_t i = 1; i < shapes.size(); ++i)
      for (const bool evicts : {false, true}) bench.gemm(shapes[i], *gemms[i], loaded, evicts, -1);
    for (const int gap_us : {0, 5, 10, 20, 50, 100, 200}) bench.gemm(shapes[2], *gemms[2], loaded, false, gap_us);
  }
  return 0;
}
