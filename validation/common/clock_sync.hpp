// Measures the offsets between the global timers of several GPUs. Two GPUs send flags to each other and back many
// times, and the fastest round trips count.
#pragma once

#include <cstdint>
#include <vector>

struct PairOffset {
  int a = 0;
  int b = 0;
  double offset_ns = 0;     // timer of b minus timer of a, as the mean of both directions
  double asymmetry_ns = 0;  // half the difference between the estimates of a->b->a and b->a->b
  // fastest round trip; offset_ns is wrong by at most half of it, even if a flag takes longer in one direction
  double min_rtt_ns = 0;
  double median_rtt_ns = 0;  // median round trip: a flag in each direction, each polled in the receiver's memory
};

struct ClockOffsets {
  std::vector<double> offset_ns;  // timer of rank r minus timer of rank 0
  std::vector<PairOffset> pairs;  // all pairs
  // largest |o(0,a) + o(a,b) - o(0,b)|, where o(x,y) is the measured offset of y minus x; 0 if the pairs agree exactly
  double closure_ns = 0;
  double worst_asymmetry_ns = 0;
  double worst_min_rtt_ns = 0;
};

class ClockSync {
 public:
  explicit ClockSync(int ranks, int round_trips = 400);
  ~ClockSync();
  ClockSync(const ClockSync&) = delete;
  ClockSync& operator=(const ClockSync&) = delete;

  ClockOffsets measure();

 private:
  struct Direction {
    double offset_ns, min_rtt_ns, median_rtt_ns;
  };
  Direction ping(int initiator, int responder);

  int ranks_;
  int round_trips_;
  uint32_t next_token_ = 1;
  std::vector<uint32_t*> mailbox_;  // one word per GPU, in memory that peers can access
  std::vector<uint64_t*> stamps_;   // 2 * round_trips per GPU
  std::vector<int*> gave_up_;
};

struct TimerTick {
  double tick_ns;       // smallest step seen between two different readings
  double mean_step_ns;  // mean step between different readings; it equals the tick if reading is faster than the tick
  double read_cost_ns;  // mean time of one reading
};
TimerTick measure_timer_tick(int device);
