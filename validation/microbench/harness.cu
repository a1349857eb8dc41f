#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "access.cuh"
#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "harness.hpp"
#include "peer_access.hpp"

namespace {

// Writes random numbers in [1, 2), like the values of a table. Equal values would switch fewer bits on the memory's
// pins.
__global__ void fill_kernel(uint32_t* words, int64_t count) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x)
    words[i] = 0x3f800000U | (hash32(uint32_t(i) ^ uint32_t(i >> 32) * 0x9e3779b1U) >> 9);
}

__global__ void spin_kernel(uint64_t ns) {
  const uint64_t end = global_ns() + ns;
  while (global_ns() < end) {
  }
}

__global__ void gate_kernel(const volatile uint32_t* open, uint32_t epoch, volatile uint32_t* gave_up) {
  const uint64_t deadline = global_ns() + kSpinLimitNs;
  while (int32_t(*open - epoch) < 0) {
    if (global_ns() > deadline) {
      *gave_up = 1;
      return;
    }
  }
}

[[noreturn]] void usage(const char* program) {
  std::fprintf(stderr, "usage: %s --gpus N --out FILE [--only BENCHMARK,...]\n", program);
  std::exit(2);
}

}  // namespace

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Parameters& Parameters::operator()(const char* key, int64_t value) {
  if (!text_.empty()) text_ += ' ';
  text_ += std::string(key) + "=" + std::to_string(value);
  return *this;
}

Span span_of(const std::vector<WgStamp>& stamps) {
  uint64_t first = UINT64_MAX, last = 0;
  double sum = 0;
  for (const WgStamp& s : stamps) {
    first = std::min(first, s.start_ns);
    last = std::max(last, s.end_ns);
    sum += double(s.end_ns - s.start_ns);
  }
  return {double(last - first), sum / double(stamps.size())};
}

Collector::Collector(int argc, char** argv, const char* program, int64_t pool_bytes)
    : pool_bytes_(pool_bytes), program_(program), arguments_(argv + 1, argv + argc), began_(now_seconds()) {
  // No kernel may be loaded while a gate holds a GPU. So all kernels are loaded at the start, unless the program has
  // set this variable itself. Copies on many streams need as many hardware queues (connections).
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  if (arguments_.size() % 2 != 0) usage(program);
  only_ = option("--only", "");
  const std::string out = option("--out", "");
  int present = 0;
  CUDA_CHECK(cudaGetDeviceCount(&present));
  gpus_ = std::atoi(option("--gpus", "0").c_str());
  if (gpus_ == 0) gpus_ = std::min(present, kMaxRanks);
  if (out.empty() || gpus_ < 1 || gpus_ > kMaxRanks) usage(program);
  if (gpus_ > present) {
    std::fprintf(stderr, "%s: %d GPUs asked for, %d present\n", program, gpus_, present);
    std::exit(2);
  }
  file_ = std::fopen(out.c_str(), "a");
  if (file_ == nullptr) {
    std::perror(out.c_str());
    std::exit(2);
  }
  for (int r = 0; r < gpus_; ++r) {
    const OpenGpu gpu = open_gpu(r, gpus_);
    sms_ = gpu.sms;
    stream_.push_back(gpu.stream);
    pool_.push_back(nullptr);
    stamps_.push_back(nullptr);
    sink_.push_back(nullptr);
    if (pool_bytes > 0) {
      CUDA_CHECK(cudaMalloc(&pool_[r], pool_bytes));
      fill_pool(r, pool_bytes);
    }
    CUDA_CHECK(cudaMalloc(&stamps_[r], sizeof(WgStamp) * kStampsPerSm * sms_));
    CUDA_CHECK(cudaMemset(stamps_[r], 0, sizeof(WgStamp) * kStampsPerSm * sms_));
    CUDA_CHECK(cudaMalloc(&sink_[r], 4096));
    CUDA_CHECK(cudaMemset(sink_[r], 0, 4096));
    spin_kernel<<<sms_, 32>>>(50'000'000);  // raises the clocks from their idle state
    CUDA_CHECK(cudaGetLastError());
  }
  for (int r = 0; r < gpus_; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  CUDA_CHECK(cudaSetDevice(0));
  std::fprintf(stderr, "%s: ready after %.1f s\n", program_.c_str(), now_seconds() - began_);
}

void Collector::fill_pool(int gpu, int64_t bytes) const {
  CUDA_CHECK(cudaSetDevice(gpu));
  fill_kernel<<<sms_ * 8, 256>>>(reinterpret_cast<uint32_t*>(pool_[gpu]), bytes / 4);
  CUDA_CHECK(cudaGetLastError());
}

Collector::~Collector() {
  std::fprintf(stderr, "%s: ended after %.1f s\n", program_.c_str(), now_seconds() - began_);
  if (std::fclose(file_) != 0) std::perror(program_.c_str());
}

std::string Collector::option(const char* key, const char* otherwise) const {
  for (size_t i = 0; i + 1 < arguments_.size(); i += 2)
    if (arguments_[i] == key) return arguments_[i + 1];
  return otherwise;
}

bool Collector::wants(const char* benchmark) {
  if (!only_.empty() && ("," + only_ + ",").find("," + std::string(benchmark) + ",") == std::string::npos) return false;
  std::fprintf(stderr, "%s: %s at %.1f s\n", program_.c_str(), benchmark, now_seconds() - began_);
  CUDA_CHECK(cudaSetDevice(0));
  return true;
}

bool Collector::wants_peers(const char* benchmark) {
  if (!wants(benchmark)) return false;
  if (gpus_ < 2) std::fprintf(stderr, "%s: %s skipped: it needs two GPUs\n", program_.c_str(), benchmark);
  return gpus_ >= 2;
}

void Collector::row(const char* benchmark, const Parameters& parameters, const char* metric, std::vector<double> values,
                    const char* unit, Middle middle) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  const double mean = std::accumulate(values.begin(), values.end(), 0.) / double(n);
  const double value = middle == Middle::mean ? mean : median;
  std::fprintf(file_, "%s,%s,%s,%.6g,%s,%zu,%.6g,%.6g\n", benchmark, parameters.text().c_str(), metric, value, unit, n,
               values.front(), values.back());
  std::fflush(file_);
}

std::vector<WgStamp> Collector::read(int gpu, int wgs) const {
  std::vector<WgStamp> host(wgs);
  CUDA_CHECK(cudaSetDevice(gpu));
  CUDA_CHECK(cudaDeviceSynchronize());
  CUDA_CHECK(cudaMemcpy(host.data(), stamps_[gpu], sizeof(WgStamp) * wgs, cudaMemcpyDeviceToHost));
  return host;
}

Span Collector::span(int gpu, int wgs) const { return span_of(read(gpu, wgs)); }

HostGate::HostGate() {
  CUDA_CHECK(cudaHostAlloc(&words_, 128, cudaHostAllocPortable | cudaHostAllocMapped));
  std::memset(words_, 0, 128);
}

HostGate::~HostGate() { cudaFreeHost(words_); }

void HostGate::hold(int gpu, cudaStream_t stream) {
  CUDA_CHECK(cudaSetDevice(gpu));
  gate_kernel<<<1, 1, 0, stream>>>(words_, epoch_ + 1, words_ + 16);
  CUDA_CHECK(cudaGetLastError());
}

void HostGate::open() { *static_cast<volatile uint32_t*>(words_) = ++epoch_; }

bool HostGate::gave_up() const { return static_cast<volatile uint32_t*>(words_)[16] != 0; }
