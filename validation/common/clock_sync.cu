#include <algorithm>
#include <cmath>

#include "clock_sync.hpp"
#include "cuda_check.hpp"
#include "device_clock.cuh"

namespace {

// Runs as one thread on each of two GPUs. The initiator records the time before it sends its flag and when it sees the
// answer. The responder records when it sees the flag, and then answers. Both poll their own memory, so a round trip
// consists of two flags of the same kind.
__global__ void ping_kernel(bool initiator, uint32_t* mine, uint32_t* theirs, uint32_t first_token, int round_trips,
                            uint64_t* stamps, int* gave_up) {
  for (int i = 0; i < round_trips; ++i) {
    const uint32_t token = first_token + i;
    if (initiator) {
      const uint64_t sent = global_ns();
      store_relaxed_sys(theirs, token);
      if (!wait_for_flag(mine, token, gave_up)) return;
      stamps[2 * i + 1] = global_ns();
      stamps[2 * i] = sent;
    } else {
      if (!wait_for_flag(mine, token, gave_up)) return;
      const uint64_t seen = global_ns();
      store_relaxed_sys(theirs, token);
      stamps[2 * i] = seen;
    }
  }
}

__global__ void tick_kernel(uint64_t* readings, int count) {
  for (int i = 0; i < count; ++i) readings[i] = global_ns();
}

}  // namespace

ClockSync::ClockSync(int ranks, int round_trips)
    : ranks_(ranks), round_trips_(round_trips), mailbox_(ranks), stamps_(ranks), gave_up_(ranks) {
  for (int r = 0; r < ranks; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMalloc(&mailbox_[r], 256));
    CUDA_CHECK(cudaMemset(mailbox_[r], 0, 256));
    CUDA_CHECK(cudaMalloc(&stamps_[r], sizeof(uint64_t) * 2 * round_trips));
    CUDA_CHECK(cudaMalloc(&gave_up_[r], sizeof(int)));
    CUDA_CHECK(cudaMemset(gave_up_[r], 0, sizeof(int)));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

ClockSync::~ClockSync() {
  for (int r = 0; r < ranks_; ++r) {
    cudaSetDevice(r);
    cudaFree(mailbox_[r]);
    cudaFree(stamps_[r]);
    cudaFree(gave_up_[r]);
  }
}

ClockSync::Direction ClockSync::ping(int initiator, int responder) {
  const uint32_t first = next_token_;
  next_token_ += uint32_t(round_trips_);
  for (const int r : {responder, initiator}) {
    const int other = r == initiator ? responder : initiator;
    CUDA_CHECK(cudaSetDevice(r));
    ping_kernel<<<1, 1>>>(r == initiator, mailbox_[r], mailbox_[other], first, round_trips_, stamps_[r], gave_up_[r]);
    CUDA_CHECK(cudaGetLastError());
  }
  std::vector<uint64_t> sent_back(2 * round_trips_), seen(2 * round_trips_);
  for (const int r : {responder, initiator}) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(r == initiator ? sent_back.data() : seen.data(), stamps_[r],
                          sizeof(uint64_t) * 2 * round_trips_, cudaMemcpyDeviceToHost));
    int failed = 0;
    CUDA_CHECK(cudaMemcpy(&failed, gave_up_[r], sizeof failed, cudaMemcpyDeviceToHost));
    if (failed != 0) {
      std::fprintf(stderr, "clock ping between GPUs %d and %d timed out\n", initiator, responder);
      std::exit(1);
    }
  }
  std::vector<double> rtt, offset;
  for (int i = round_trips_ / 10; i < round_trips_; ++i) {  // in the first tenth, both kernels are still starting
    const int64_t t0 = int64_t(sent_back[2 * i]), t2 = int64_t(sent_back[2 * i + 1]), t1 = int64_t(seen[2 * i]);
    rtt.push_back(double(t2 - t0));
    offset.push_back(double(t1 - t0) - double(t2 - t0) / 2);
  }
  std::vector<double> sorted = rtt;
  std::sort(sorted.begin(), sorted.end());
  // Takes the mean over the fastest eighth of the round trips. This excludes delayed ones and averages out the timer's
  // steps.
  const double limit = sorted[sorted.size() / 8];
  double sum = 0;
  int kept = 0;
  for (size_t i = 0; i < rtt.size(); ++i) {
    if (rtt[i] <= limit) {
      sum += offset[i];
      ++kept;
    }
  }
  return {sum / kept, sorted.front(), sorted[sorted.size() / 2]};
}

ClockOffsets ClockSync::measure() {
  ClockOffsets result;
  std::vector<std::vector<double>> offset(ranks_, std::vector<double>(ranks_, 0.0));
  for (int a = 0; a < ranks_; ++a) {
    for (int b = a + 1; b < ranks_; ++b) {
      const Direction ab = ping(a, b);
      const Direction ba = ping(b, a);
      PairOffset pair;
      pair.a = a;
      pair.b = b;
      pair.offset_ns = (ab.offset_ns - ba.offset_ns) / 2;
      pair.asymmetry_ns = std::abs(ab.offset_ns + ba.offset_ns) / 2;
      pair.min_rtt_ns = std::min(ab.min_rtt_ns, ba.min_rtt_ns);
      pair.median_rtt_ns = (ab.median_rtt_ns + ba.median_rtt_ns) / 2;
      offset[a][b] = pair.offset_ns;
      result.worst_asymmetry_ns = std::max(result.worst_asymmetry_ns, pair.asymmetry_ns);
      result.worst_min_rtt_ns = std::max(result.worst_min_rtt_ns, pair.min_rtt_ns);
      result.pairs.push_back(pair);
    }
  }
  result.offset_ns = offset[0];
  for (int a = 1; a < ranks_; ++a) {
    for (int b = a + 1; b < ranks_; ++b)
      result.closure_ns = std::max(result.closure_ns, std::abs(offset[0][a] + offset[a][b] - offset[0][b]));
  }
  return result;
}

TimerTick measure_timer_tick(int device) {
  constexpr int kReadings = 20'000;
  CUDA_CHECK(cudaSetDevice(device));
  uint64_t* readings = nullptr;
  CUDA_CHECK(cudaMalloc(&readings, sizeof(uint64_t) * kReadings));
  tick_kernel<<<1, 1>>>(readings, kReadings);
  CUDA_CHECK(cudaGetLastError());
  std::vector<uint64_t> host(kReadings);
  CUDA_CHECK(cudaMemcpy(host.data(), readings, sizeof(uint64_t) * kReadings, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(readings));
  uint64_t smallest = UINT64_MAX;
  int steps = 0;
  for (int i = 1; i < kReadings; ++i) {
    if (host[i] == host[i - 1]) continue;
    smallest = std::min(smallest, host[i] - host[i - 1]);
    ++steps;
  }
  const double span = double(host.back() - host.front());
  return {double(smallest), span / steps, span / (kReadings - 1)};
}
