// Time stamps of the recording kernels, in ns of the timer of their GPU. Zero means that the stamp was not written.
#pragma once

#include <cstdint>

struct TaskRecord {
  uint64_t start_ns;        // time at which thread 0 begins the task
  uint64_t compute_end_ns;  // time of a barrier: all threads' sums are complete, and no store has been issued yet
  uint64_t end_ns;          // time at which all threads have issued their stores
  uint32_t wg;
  uint32_t sm;
};

struct WaitRecord {  // [peer][wg]
  uint64_t start_ns;
  uint64_t end_ns;
};

struct WgRecord {
  uint64_t entry_ns;     // time of the WG's first instruction
  uint64_t released_ns;  // time at which its first task may start, after the start barrier if there is one
  uint64_t last_end_ns;  // end of its last task
  uint64_t end_ns;       // time of the WG's last instruction
  uint32_t sm;
  uint32_t tasks;
};
