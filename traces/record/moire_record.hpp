// Records what the workgroups of a kernel do, step by step, as a WG trace of version 2 (docs/reference/wg-trace.md).
// This header works with CUDA and HIP and needs nothing else of Moire. The README of this folder shows how to use it.
//
// A kernel gets a moire_record::Log as a parameter. After each step it records this step, with the time at which the
// step began:
//   const auto since = MOIRE_NOW();
//   ...
//   MOIRE_WORK(log, since, task, own_rank, bytes, flop, moire_record::Unit::matrix_bf16);
// All threads of a workgroup may call the macros; only its first thread reads the clock and writes. So the recorded end
// of a step includes the work of the other threads only if a barrier precedes the macro.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define MOIRE_RUNTIME(name) hip##name
#else
#include <cuda_runtime.h>
#define MOIRE_RUNTIME(name) cuda##name
#endif

#define MOIRE_CHECKED(call)                                                                            \
  do {                                                                                                 \
    const auto moire_status = (call);                                                                  \
    if (moire_status != MOIRE_RUNTIME(Success))                                                        \
      throw std::runtime_error(std::string(#call ": ") + MOIRE_RUNTIME(GetErrorString)(moire_status)); \
  } while (0)

namespace moire_record {

enum class Kind : uint8_t { work, store, fence, signal, put, wait };
enum class Unit : uint8_t { none, vector_fp32, matrix_fp16, matrix_bf16 };

struct Step {
  uint64_t start_ns, end_ns;  // of the GPU's own timer
  uint64_t bytes, flop;
  int32_t task, flag;
  uint32_t count;
  uint16_t peer;
  Kind kind;
  Unit unit;
};

// The destination of a kernel's records; it is copied into the kernel as a parameter.
struct Log {
  Step* steps;        // [workgroup][capacity]
  uint32_t* used;     // steps per workgroup; if it exceeds `capacity`, steps were lost
  uint32_t* cu;       // compute unit (SM) on which each workgroup ran
  uint32_t capacity;  // most steps that a workgroup can record
  uint32_t workgroups;
};

// Returns the time of the GPU's timer in ns. All CUs of a GPU share this timer.
__device__ inline uint64_t now() {
#if defined(__HIPCC__)
  return uint64_t(wall_clock64()) * 10;  // wall_clock64() counts at 100 MHz on CDNA
#else
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
#endif
}

__device__ inline uint32_t compute_unit() {
#if defined(__HIPCC__)
  return __smid();
#else
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
#endif
}

__device__ inline bool first_thread() { return threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0; }

__device__ inline void add(const Log& log, Kind kind, uint64_t since, int32_t task, uint32_t peer, uint64_t bytes,
                           uint64_t flop, Unit unit, int32_t flag, uint32_t count) {
  if (!first_thread()) return;
  const uint32_t workgroup = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (workgroup >= log.workgroups) return;
  const uint32_t number = log.used[workgroup]++;
  log.cu[workgroup] = compute_unit();
  if (number >= log.capacity) return;
  log.steps[uint64_t(workgroup) * log.capacity + number] =
      Step{since, now(), bytes, flop, task, flag, count, uint16_t(peer), kind, unit};
}

#define MOIRE_NOW() (moire_record::first_thread() ? moire_record::now() : 0)
// Records that the workgroup loaded `bytes` from the memory of rank `peer` and computed `flop` at the same time.
#define MOIRE_WORK(log, since, task, peer, bytes, flop, unit) \
  moire_record::add(log, moire_record::Kind::work, since, task, peer, bytes, flop, unit, -1, 0)
// Records that the workgroup issued stores of `bytes` to the memory of rank `peer`.
#define MOIRE_STORE(log, since, task, peer, bytes) \
  moire_record::add(log, moire_record::Kind::store, since, task, peer, bytes, 0, moire_record::Unit::none, -1, 0)
// Records that the workgroup waited until its stores had arrived. `rank` is the recording rank.
#define MOIRE_FENCE(log, since, task, rank) \
  moire_record::add(log, moire_record::Kind::fence, since, task, rank, 0, 0, moire_record::Unit::none, -1, 0)
// Records that the workgroup raised flag number `flag` of rank `peer`.
#define MOIRE_SIGNAL(log, since, task, peer, flag) \
  moire_record::add(log, moire_record::Kind::signal, since, task, peer, 0, 0, moire_record::Unit::none, flag, 0)
// Records that the workgroup sent `bytes` to rank `peer` in a message that raises flag number `flag` there on arrival.
#define MOIRE_PUT(log, since, task, peer, bytes, flag) \
  moire_record::add(log, moire_record::Kind::put, since, task, peer, bytes, 0, moire_record::Unit::none, flag, 0)
// Records that the workgroup waited until flag number `flag` of `rank`, the recording rank, had been raised `count`
// times.
#define MOIRE_WAIT(log, since, task, rank, flag, count) \
  moire_record::add(log, moire_record::Kind::wait, since, task, rank, 0, 0, moire_record::Unit::none, flag, count)

namespace detail {

// Runs as one thread on each of two GPUs. The initiator records the time before it sends its flag and when it sees the
// answer. The responder records the time when it sees the flag, and answers. Both poll their own memory, so a round
// trip consists of two flags of the same kind.
static __global__ void ping(bool initiator, volatile uint32_t* mine, volatile uint32_t* theirs, uint32_t first,
                            int round_trips, uint64_t* stamps) {
  constexpr uint64_t limit_ns = 2'000'000'000;
  for (int i = 0; i < round_trips; ++i) {
    const uint32_t token = first + i;
    const uint64_t sent = now();
    if (initiator) {
      *theirs = token;
      __threadfence_system();
    }
    while (*mine != token) {
      if (now() - sent > limit_ns) return;  // the time stamps that are missing stay zero
    }
    const uint64_t seen = now();
    if (initiator) {
      stamps[2 * i] = sent;
      stamps[2 * i + 1] = seen;
    } else {
      stamps[2 * i] = seen;
      *theirs = token;
      __threadfence_system();
    }
  }
}

}  // namespace detail

// The description of the kernel in the header of a trace.
struct Kernel {
  std::string name;
  int threads = 0;
  int registers = 0;
  long long lds_bytes = 0;
  long long bytes_in_flight = 0;                            // bytes that a workgroup has requested and not yet received
  std::vector<std::pair<std::string, std::string>> more{};  // key and value, kept as provenance
};

// Records what kernels do on GPUs 0 to ranks - 1 of one process. The GPUs must be able to access each other's memory.
// Errors are thrown as exceptions.
class Recorder {
 public:
  Recorder(int ranks, uint32_t workgroups, uint32_t steps_of_workgroup)
      : ranks_(ranks), logs_(ranks), mailbox_(ranks), stamps_(ranks) {
    for (int r = 0; r < ranks; ++r) {
      MOIRE_CHECKED(MOIRE_RUNTIME(SetDevice)(r));
      Log& log = logs_[r];
      log.capacity = steps_of_workgroup;
      log.workgroups = workgroups;
      MOIRE_CHECKED(MOIRE_RUNTIME(Malloc)((void**)&log.steps, sizeof(Step) * workgroups * steps_of_workgroup));
      MOIRE_CHECKED(MOIRE_RUNTIME(Malloc)((void**)&log.used, sizeof(uint32_t) * workgroups));
      MOIRE_CHECKED(MOIRE_RUNTIME(Malloc)((void**)&log.cu, sizeof(uint32_t) * workgroups));
      MOIRE_CHECKED(MOIRE_RUNTIME(Malloc)((void**)&mailbox_[r], 256));
      MOIRE_CHECKED(MOIRE_RUNTIME(Memset)(mailbox_[r], 0, 256));
      MOIRE_CHECKED(MOIRE_RUNTIME(Malloc)((void**)&stamps_[r], sizeof(uint64_t) * 2 * kTrips));
    }
    clear();
  }
  ~Recorder() {
    for (int r = 0; r < ranks_; ++r) {
      (void)MOIRE_RUNTIME(SetDevice)(r);
      (void)MOIRE_RUNTIME(Free)(logs_[r].steps);
      (void)MOIRE_RUNTIME(Free)(logs_[r].used);
      (void)MOIRE_RUNTIME(Free)(logs_[r].cu);
      (void)MOIRE_RUNTIME(Free)(mailbox_[r]);
      (void)MOIRE_RUNTIME(Free)(stamps_[r]);
    }
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  const Log& log(int rank) const { return logs_[rank]; }

  // Deletes earlier records and compares the GPUs' timers. Call it before the run that you want to record.
  void clear() {
    for (int r = 0; r < ranks_; ++r) {
      MOIRE_CHECKED(MOIRE_RUNTIME(SetDevice)(r));
      MOIRE_CHECKED(MOIRE_RUNTIME(Memset)(logs_[r].used, 0, sizeof(uint32_t) * logs_[r].workgroups));
      MOIRE_CHECKED(MOIRE_RUNTIME(DeviceSynchronize)());
    }
    before_ = offsets();
  }

  // Compares the GPUs' timers again and writes the trace. Call it after the run. Returns the time in ns from the first
  // start to the last end of a step.
  long long write(const std::string& path, const Kernel& kernel) {
    const std::vector<double> after = offsets();
    std::vector<Row> rows;
    for (int r = 0; r < ranks_; ++r) {
      const Log& log = logs_[r];
      std::vector<uint32_t> used(log.workgroups), cu(log.workgroups);
      std::vector<Step> steps(size_t(log.workgroups) * log.capacity);
      MOIRE_CHECKED(MOIRE_RUNTIME(SetDevice)(r));
      const auto to_host = MOIRE_RUNTIME(MemcpyDeviceToHost);
      MOIRE_CHECKED(MOIRE_RUNTIME(Memcpy)(used.data(), log.used, sizeof(uint32_t) * used.size(), to_host));
      MOIRE_CHECKED(MOIRE_RUNTIME(Memcpy)(cu.data(), log.cu, sizeof(uint32_t) * cu.size(), to_host));
      MOIRE_CHECKED(MOIRE_RUNTIME(Memcpy)(steps.data(), log.steps, sizeof(Step) * steps.size(), to_host));
      const double offset = (before_[r] + after[r]) / 2;
      for (uint32_t w = 0; w < log.workgroups; ++w) {
        if (used[w] > log.capacity) {
          throw std::runtime_error("workgroup " + std::to_string(w) + " of rank " + std::to_string(r) + " took " +
                                   std::to_string(used[w]) + " steps, but the log holds only " +
                                   std::to_string(log.capacity));
        }
        for (uint32_t i = 0; i < used[w]; ++i) {
          Row row{r, w, cu[w], steps[size_t(w) * log.capacity + i], 0, 0};
          row.start = (long long)row.step.start_ns - std::llround(offset);
          row.end = (long long)row.step.end_ns - std::llround(offset);
          rows.push_back(row);
        }
      }
    }
    if (rows.empty()) throw std::runtime_error("no step was recorded");
    long long first = rows[0].start, last = rows[0].end;
    for (const Row& row : rows) {
      first = std::min(first, row.start);
      last = std::max(last, row.end);
    }
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) throw std::runtime_error(path + " cannot be written");
    std::fprintf(file, "# moire-wgtrace 2\n# ranks: %d\n# kernel: %s\n# wgs_per_rank: %u\n", ranks_,
                 kernel.name.c_str(), logs_[0].workgroups);
    std::fprintf(file, "# threads_per_wg: %d\n# registers_per_thread: %d\n# lds_bytes_per_wg: %lld\n", kernel.threads,
                 kernel.registers, kernel.lds_bytes);
    std::fprintf(file, "# bytes_in_flight_per_wg: %lld\n# recorded_end_ns: %lld\n", kernel.bytes_in_flight,
                 last - first);
    double drift = 0;
    for (int r = 0; r < ranks_; ++r) drift = std::max(drift, std::abs(after[r] - before_[r]));
    std::fprintf(file, "# clock_drift_ns: %.0f\n# clock_round_trip_ns: %.0f\n", drift, round_trip_ns_);
    for (const auto& [key, value] : kernel.more) std::fprintf(file, "# %s: %s\n", key.c_str(), value.c_str());
    std::fprintf(file, "kind,rank,wg,task,cu,peer,start_ns,end_ns,bytes,flop,unit,flag,count\n");
    static const char* const kinds[] = {"work", "store", "fence", "signal", "put", "wait"};
    static const char* const units[] = {"-", "vector_fp32", "matrix_fp16", "matrix_bf16"};
    for (const Row& row : rows) {
      const Step& s = row.step;
      std::fprintf(file, "%s,%d,%u,%d,%u,%u,%lld,%lld,%llu,%llu,%s,%d,%u\n", kinds[int(s.kind)], row.rank,
                   row.workgroup, s.task, row.cu, unsigned(s.peer), row.start - first, row.end - first,
                   (unsigned long long)s.bytes, (unsigned long long)s.flop, s.flop > 0 ? units[int(s.unit)] : "-",
                   s.flag, s.count);
    }
    const bool failed = std::ferror(file) != 0;
    if (std::fclose(file) != 0 || failed) throw std::runtime_error(path + " was not written completely");
    return last - first;
  }

 private:
  static constexpr int kTrips = 400;
  struct Row {
    int rank;
    uint32_t workgroup, cu;
    Step step;
    long long start, end;
  };
  struct Direction {
    double offset, round_trip;
  };

  // Returns the timer of each GPU minus that of GPU 0, in ns. The result is the mean of flags sent in both directions.
  std::vector<double> offsets() {
    std::vector<double> found(ranks_);
    round_trip_ns_ = 0;
    for (int r = 1; r < ranks_; ++r) {
      const Direction there = ping(0, r), back = ping(r, 0);
      found[r] = (there.offset - back.offset) / 2;
      round_trip_ns_ = std::max({round_trip_ns_, there.round_trip, back.round_trip});
    }
    return found;
  }

  Direction ping(int initiator, int responder) {
    const uint32_t first = next_token_;
    next_token_ += kTrips;
    std::vector<uint64_t> sent(2 * kTrips), seen(2 * kTrips);
    for (const int r : {responder, initiator}) {
      MOIRE_CHECKED(MOIRE_RUNTIME(SetDevice)(r));
      MOIRE_CHECKED(MOIRE_RUNTIME(Memset)(stamps_[r], 0, sizeof(uint64_t) * 2 * kTrips));
      detail::ping<<<1, 1>>>(r == initiator, mailbox_[r], mailbox_[r == initiator ? responder : initiator], first,
                             kTrips, stamps_[r]);
      MOIRE_CHECKED(MOIRE_RUNTIME(GetLastError)());
    }
    for (const int r : {responder, initiator}) {
      MOIRE_CHECKED(MOIRE_RUNTIME(SetDevice)(r));
      MOIRE_CHECKED(MOIRE_RUNTIME(DeviceSynchronize)());
      MOIRE_CHECKED(MOIRE_RUNTIME(Memcpy)((r == initiator ? sent : seen).data(), stamps_[r],
                                          sizeof(uint64_t) * 2 * kTrips, MOIRE_RUNTIME(MemcpyDeviceToHost)));
    }
    // The first tenth of the round trips is left out, because both kernels are still starting. Of the others only the
    // fastest eighth counts, which excludes delayed round trips.
    std::vector<std::pair<double, double>> trips;  // time and offset
    for (int i = kTrips / 10; i < kTrips; ++i) {
      if (sent[2 * i + 1] == 0 || seen[2 * i] == 0)
        throw std::runtime_error("GPUs " + std::to_string(initiator) + " and " + std::to_string(responder) +
                                 " do not see each other's flags: is peer access enabled?");
      const double trip = double((long long)(sent[2 * i + 1] - sent[2 * i]));
      trips.emplace_back(trip, double((long long)(seen[2 * i] - sent[2 * i])) - trip / 2);
    }
    std::sort(trips.begin(), trips.end());
    double sum = 0;
    const size_t kept = std::max<size_t>(1, trips.size() / 8);
    for (size_t i = 0; i < kept; ++i) sum += trips[i].second;
    return {sum / double(kept), trips.front().first};
  }

  int ranks_;
  std::vector<Log> logs_;
  std::vector<uint32_t*> mailbox_;
  std::vector<uint64_t*> stamps_;
  std::vector<double> before_;
  double round_trip_ns_ = 0;
  uint32_t next_token_ = 1;
};

}  // namespace moire_record
