// Counts what the memory and the links of a GPU move while programs run as usual, by NVML's GPM counters. The driver
// renews the counters about ten times a second, so only the mean over a second or more of steady work is meaningful.
#pragma once

#include <memory>

struct GpuTraffic {
  bool known = false;       // false: the GPU or its driver has no such counters
  double memory_share = 0;  // bytes read and written, as a share of the memory's peak bandwidth
  double sent_per_s = 0;    // bytes that left the GPU over NVLink, per second
};

class TrafficCounter {
 public:
  explicit TrafficCounter(int device);  // begins to count
  ~TrafficCounter();
  TrafficCounter(const TrafficCounter&) = delete;
  TrafficCounter& operator=(const TrafficCounter&) = delete;
  // Returns the means since the counter was made.
  GpuTraffic mean() const;

 private:
  struct Samples;
  std::unique_ptr<Samples> samples_;
};
