// The common part of all microbenchmark programs: options, access of each GPU to the memory of the others, a memory
// pool per GPU, rows of the measurements file (docs/reference/measurements.md), repetitions, and a gate that hides
// launch costs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

constexpr int kRepetitions = 7;
constexpr int kWarmups = 2;

// When one WG began and ended, in ns of its GPU's timer, and what it moved.
struct WgStamp {
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t bytes;  // bytes moved, if the kernel works for a fixed time; 0 otherwise
  uint32_t sm;
  uint32_t padding;
};

struct Span {
  double ns = 0;          // from the first WG's start to the last WG's end
  double mean_wg_ns = 0;  // mean time of one WG
};

// The parameters of a row as text "key=value key=value", in the order in which they were added.
class Parameters {
 public:
  Parameters& operator()(const char* key, int64_t value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Collector {
 public:
  // Reads the options --gpus N --out FILE [--only NAME,...] [KEY VALUE]... and opens the file. Allocates a pool of
  // `pool_bytes` (may be 0) on each GPU.
  Collector(int argc, char** argv, const char* program, int64_t pool_bytes);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  int gpus() const { return gpus_; }
  int sms() const { return sms_; }
  int64_t pool_bytes() const { return pool_bytes_; }
  float4* pool(int gpu) const { return pool_[gpu]; }
  void fill_pool(int gpu, int64_t bytes) const;  // with random numbers in [1, 2)
  WgStamp* stamps(int gpu) const { return stamps_[gpu]; }
  float* sink(int gpu) const { return sink_[gpu]; }
  cudaStream_t stream(int gpu) const { return stream_[gpu]; }
  std::FILE* file() const { return file_; }  // for programs whose file has other columns than a measurements file
  std::string option(const char* key, const char* otherwise) const;

  // Returns true if this benchmark was requested (option --only). Also prints the progress of the program.
  bool wants(const char* benchmark);
  // Like wants(), for a benchmark that needs a second GPU. On a single GPU it returns false and prints that the
  // benchmark is skipped.
  bool wants_peers(const char* benchmark);

  // Writes one row: the median or mean, minimum and maximum of the values. The row is flushed to the file immediately,
  // so that a crash loses no earlier row.
  enum class Middle { median, mean };
  void row(const char* benchmark, const Parameters& parameters, const char* metric, std::vector<double> values,
           const char* unit, Middle middle = Middle::median);
  // Return the stamps of the first `wgs` WGs, or their span, after waiting until the GPU is idle.
  std::vector<WgStamp> read(int gpu, int wgs) const;
  Span span(int gpu, int wgs) const;

 private:
  static constexpr int kStampsPerSm = 256;
  int gpus_ = 0, sms_ = 0;
  int64_t pool_bytes_;
  std::string program_, only_;
  std::vector<std::string> arguments_;
  std::FILE* file_ = nullptr;
  double began_ = 0;
  std::vector<float4*> pool_;
  std::vector<WgStamp*> stamps_;
  std::vector<float*> sink_;
  std::vector<cudaStream_t> stream_;
};

double now_seconds();
Span span_of(const std::vector<WgStamp>& stamps);

template <typename Function>
std::vector<double> repeat(Function once, int repetitions = kRepetitions) {
  std::vector<double> values;
  for (int i = 0; i < kWarmups + repetitions; ++i) {
    const double value = once(i);
    if (i >= kWarmups) values.push_back(value);
  }
  return values;
}

// Holds streams on any GPU by a kernel that waits for the host, until the host has enqueued all work and calls open().
// A gate that is not opened within two seconds opens by itself, so that the GPU never hangs.
class HostGate {
 public:
  HostGate();
  ~HostGate();
  HostGate(const HostGate&) = delete;
  HostGate& operator=(const HostGate&) = delete;
  void hold(int gpu, cudaStream_t stream);
  void open();
  bool gave_up() const;  // returns true if a gate opened by itself; valid when the streams have ended

 private:
  uint32_t* words_ = nullptr;  // in host memory: [0] number of the last opening; [16] is set by a gate that timed out
  uint32_t epoch_ = 0;
};
