// Time stamps of the recording kernels, in ns of the timer of their GPU. Zero means that the stamp was not written.
#pragma once

#include <cstdint>

struct TaskRecord {
  uint64_t start_ns;        // thread 0 takes the task
  uint64_t compute_end_ns;  // all threads' sums are in registers (ensured by a barrier); no store has been issued yet
  uint64_t end_ns;          // all threads have issued their stores
  uint32_t wg;
  uint32_t sm;
};

struct WaitRecord {  // [peer][wg]
  uint64_t start_ns;
  uint64_t end_ns;
};

struct WgRecord {
  uint64_t entry_ns;     // of the WG's first instruction
  uint64_t released_ns;  // its first task may start: after the start barrier, if there is one
  uint64_t last_end_ns;  // end of its last task
  uint64_t end_ns;       // last instruction
  uint32_t sm;
  uint32_t tasks;
};
