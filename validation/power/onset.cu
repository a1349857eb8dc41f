// Measures the clock of an SM of GPU 0 during the first second after work has begun on the idle GPU. The work is a
// series of GEMMs of several sizes and operand patterns, or of streams. Writes two tables: OUT (the clock in windows
// whose ends are spaced evenly on a logarithmic scale) and OUT.iterations (times of iterations, between time stamps at
// growing distances).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "cast.hpp"
#include "clock_sampler.cuh"
#include "cuda_check.hpp"
#include "harness.hpp"
#include "provenance.hpp"
#include "shapes.hpp"
#include "stream.hpp"

namespace {

constexpr int kSamples = 1 << 13;
// The sampler takes a sample every microsecond at first. Each interval is longer by 1/512 of the time since the first
// sample.
constexpr uint64_t kIntervalNs = 1000, kGrowth = 512;
constexpr int kMostStamps = 1024;
constexpr int kRounds = 3;
constexpr double kSeconds = 1;
constexpr double kFirstUs = 2, kWindowsPerDecade = 20;

class Bench {
 public:
  Bench(Collector& c, std::FILE* iterations) : c_(c), iterations_(iterations) {
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaMalloc(&samples_, sizeof(ClockSample) * kSamples));
    CUDA_CHECK(cudaMalloc(&stamps_, sizeof(uint64_t) * kMostStamps));
    CUDA_CHECK(cudaMalloc(&stop_, 256));
    CUDA_CHECK(cudaMemset(stop_, 0, 256));
    CUDA_CHECK(cudaHostAlloc(&epochs_, sizeof(uint32_t), cudaHostAllocPortable));
    for (cudaStream_t* stream : {&watch_, &stop_stream_, &stream_})
      CUDA_CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    // A kernel is loaded at its first launch, and loading would wait for the end of a running sampler. So all kernels
    // run once now.
    sample_clock<<<1, 32, 0, watch_>>>(samples_, 1, kIntervalNs, kGrowth, stop_, UINT32_MAX);
    stamp_time<<<1, 1, 0, stream_>>>(stamps_);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  void run(const std::string& name, Work& load) {
    const double us = time_of(load);
    for (int round = 0; round < kRounds; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // lets the GPU cool, and its clock recover
      once(name, load, int(kSeconds * 1e6 / us) + 1, round);
    }
    std::fprintf(stderr, "onset: %s: %.1f us\n", name.c_str(), us);
  }

 private:
  double time_of(Work& work) {
    work.enqueue({stream_});
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    constexpr int kTimes = 8;
    const double begin = now_seconds();
    for (int i = 0; i < kTimes; ++i) work.enqueue({stream_});
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    return (now_seconds() - begin) * 1e6 / kTimes;
  }

  void once(const std::string& name, Work& load, int times, int round) {
    ++epoch_;
    sample_clock<<<1, 32, 0, watch_>>>(samples_, kSamples, kIntervalNs, kGrowth, stop_, epoch_);
    CUDA_CHECK(cudaGetLastError());
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    std::vector<int> marks;  // number of iterations that precede each time stamp
    const auto mark = [&](int done) {
      stamp_time<<<1, 1, 0, stream_>>>(stamps_ + marks.size());
      CUDA_CHECK(cudaGetLastError());
      marks.push_back(done);
    };
    mark(0);
    int next = 1;
    for (int done = 1; done <= times; ++done) {
      load.enqueue({stream_});
      if (done != next && done != times) continue;
      mark(done);
      next = std::max(done + 1, int(double(done) * 1.04));
    }
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    *epochs_ = epoch_;
    CUDA_CHECK(cudaMemcpyAsync(stop_, epochs_, sizeof(uint32_t), cudaMemcpyHostToDevice, stop_stream_));
    CUDA_CHECK(cudaStreamSynchronize(stop_stream_));
    CUDA_CHECK(cudaStreamSynchronize(watch_));
    write(name, round, marks);
  }

  void write(const std::string& name, int round, const std::vector<int>& marks) {
    std::vector<ClockSample> samples(kSamples);
    std::vector<uint64_t> stamps(marks.size());
    CUDA_CHECK(cudaMemcpy(samples.data(), samples_, sizeof(ClockSample) * kSamples, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(stamps.data(), stamps_, sizeof(uint64_t) * stamps.size(), cudaMemcpyDeviceToHost));
    size_t count = 0;
    while (count < samples.size() && samples[count].ns != 0) ++count;
    const auto us = [&](uint64_t ns) { return double(int64_t(ns - stamps.front())) * 1e-3; };
    for (size_t i = 1; i < marks.size(); ++i)
      std::fprintf(iterations_, "%s,%d,%.2f,%.2f,%d,%.4f\n", name.c_str(), round, us(stamps[i - 1]), us(stamps[i]),
                   marks[i] - marks[i - 1], (us(stamps[i]) - us(stamps[i - 1])) / (marks[i] - marks[i - 1]));
    // A window ends at the last sample before its nominal end, where the next window begins. The first window ends when
    // the load begins.
    size_t first = 0;
    double end_us = 0;
    for (int window = 0; end_us < us(stamps.back()); ++window) {
      end_us = window == 0 ? 0 : kFirstUs * std::pow(10, (window - 1) / kWindowsPerDecade);
      size_t last = first;
      while (last + 1 < count && us(samples[last + 1].ns) <= std::min(end_us, us(stamps.back()))) ++last;
      if (last == first) continue;  // the window contains no sample
      std::fprintf(c_.file(), "%s,%d,%.2f,%.2f,%.2f\n", name.c_str(), round, us(samples[first].ns),
                   us(samples[last].ns), clock_between(samples[first], samples[last]));
      first = last;
    }
    std::fflush(c_.file());
    std::fflush(iterations_);
  }

  Collector& c_;
  std::FILE* iterations_;
  ClockSample* samples_ = nullptr;
  uint64_t* stamps_ = nullptr;
  uint32_t* stop_ = nullptr;
  uint32_t* epochs_ = nullptr;
  uint32_t epoch_ = 0;
  cudaStream_t watch_ = nullptr, stop_stream_ = nullptr, stream_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  // The GEMM library is large, so each of its kernels is loaded when it is first used.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  Collector c(argc, argv, "onset", 0);
  const std::string command = "validation/power/run.sh --gpus 1 --only onset";
  std::FILE* iterations = std::fopen((c.option("--out", "onset.csv") + ".iterations").c_str(), "w");
  if (iterations == nullptr) return 2;
  for (std::FILE* file : {c.file(), iterations}) write_provenance(file, 1, command);
  std::fprintf(c.file(), "load,round,from_us,to_us,mhz\n");
  std::fprintf(iterations, "load,round,from_us,to_us,iterations,us\n");

  ComputeShape largest;
  largest.name = "stream";
  largest.stream_bytes = int64_t{1} << 30;
  const std::vector<ComputeShape> shapes = {gemm_shape(8192, 8192, 8192), gemm_shape(4096, 4096, 4096),
                                            gemm_shape(2048, 2048, 2048), largest};
  const Operands operands(1, shapes);
  std::vector<std::unique_ptr<Gemm>> gemms;
  for (size_t i = 0; i + 1 < shapes.size(); ++i) gemms.push_back(Gemm::create(operands, shapes[i], 0));
  StreamShape gib;
  gib.bytes = int64_t{1} << 30;
  gib.sms = c.sms();
  const std::unique_ptr<Work> stream = make_stream(operands, gib);

  Bench bench(c, iterations);
  bench.run("stream_1gib", *stream);
  bench.run("gemm_2048_normal", *gemms[2]);
  bench.run("gemm_4096_normal", *gemms[1]);
  bench.run("gemm_8192_normal", *gemms[0]);
  const int64_t square = int64_t{8192} * 8192 * 2;
  fill(operands, square, 0x0000);
  bench.run("gemm_2048_zeros", *gemms[2]);
  bench.run("gemm_8192_zeros", *gemms[0]);
  fill(operands, square, 0x3eab);  // 1/3 in bf16; its fraction has ones and zeros, unlike that of 1
  bench.run("gemm_8192_thirds", *gemms[0]);
  std::fclose(iterations);
  return 0;
}
