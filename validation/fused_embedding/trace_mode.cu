#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "clock_sync.hpp"
#include "gpu_info.hpp"
#include "trace_mode.hpp"

namespace {

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", v);
  return text;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
  return v[v.size() / 2];
}

struct Recorded {
  std::vector<RankRecords> records;
  std::vector<double> offset;
  double uncertainty = 0, rtt = 0, drift = 0, closure = 0, asymmetry = 0;
  int64_t makespan = 0;
};

// Runs and records one run. The offsets of the GPUs' timers are measured directly before and after it.
Recorded record(Bench& bench, const RunOptions& options, ClockSync& sync, int ranks) {
  const ClockOffsets before = sync.measure();
  bench.run(options);
  const ClockOffsets after = sync.measure();
  Recorded run;
  run.records = bench.records(options);
  for (int r = 0; r < ranks; ++r) {
    run.offset.push_back((before.offset_ns[r] + after.offset_ns[r]) / 2);
    run.drift = std::max(run.drift, std::abs(before.offset_ns[r] - after.offset_ns[r]));
  }
  run.closure = std::max(before.closure_ns, after.closure_ns);
  run.asymmetry = std::max(before.worst_asymmetry_ns, after.worst_asymmetry_ns);
  run.uncertainty = std::max({run.closure, run.asymmetry, run.drift / 2});
  run.rtt = std::max(before.worst_min_rtt_ns, after.worst_min_rtt_ns);
  run.makespan = makespan_ns(run.records, run.offset);
  return run;
}

// Returns as text when each rank began, relative to the rank that began first.
std::string launch_skew(const AlignedRun& run) {
  std::vector<int64_t> entry;
  for (const RankRecords& rank : run.ranks) {
    int64_t first = INT64_MAX;
    for (const WgRecord& w : rank.wgs) first = std::min(first, int64_t(w.entry_ns));
    if (rank.wgs.empty())
      for (const TaskRecord& t : rank.tasks) first = std::min(first, int64_t(t.start_ns));
    entry.push_back(first);
  }
  const int64_t first = *std::min_element(entry.begin(), entry.end());
  std::string text;
  for (const int64_t e : entry) text += (text.empty() ? "" : " ") + std::to_string(e - first);
  return text;
}

// Records several runs and writes the trace of the run with the median makespan.
void write_one(Bench& bench, const Point& point, const TraceRequest& request, const RunOptions& options) {
  const bool fused = options.mode == Mode::fused;
  const Shape& shape = point.shape;
  const int ranks = shape.ranks;
  const std::string clocks_before = clocks_text(ranks);
  ClockSync sync(ranks);
  std::vector<Recorded> runs;
  for (int i = 0; i < request.warmups + request.repetitions; ++i) {
    Recorded run = record(bench, options, sync, ranks);
    if (i >= request.warmups) runs.push_back(std::move(run));
  }
  std::sort(runs.begin(), runs.end(), [](const Recorded& a, const Recorded& b) { return a.makespan < b.makespan; });
  const Recorded& chosen = runs[runs.size() / 2];
  const double tick = measure_timer_tick(0).tick_ns;
  const KernelFacts facts = bench.facts(options);
  const GpuInfo gpu = gpu_info(0);
  const AlignedRun aligned = align(chosen.records, chosen.offset);

  std::string offsets;
  for (const double o : chosen.offset) offsets += (offsets.empty() ? "" : " ") + number(o);
  char zipf[32];
  std::snprintf(zipf, sizeof zipf, "%g", shape.zipf);
  Metadata metadata = {
      {"ranks", std::to_string(ranks)},
      {"kernel", fused ? "fused_embedding_alltoall" : "unfused_embedding"},
      {"wgs_per_rank", std::to_string(facts.grid)},
      {"threads_per_wg", std::to_string(kThreads)},
      {"registers_per_thread", std::to_string(facts.registers)},
      {"lds_bytes_per_wg", std::to_string(facts.lds_bytes)},
      {"bytes_in_flight_per_wg", std::to_string(shape.bytes_in_flight_per_wg())},
      {"recorded_end_ns", std::to_string(aligned.end_ns)},
      {"gpu", gpu.name},
      {"driver", gpu.driver},
      {"cuda", gpu.cuda},
      {"clocks", "before: " + clocks_before + "; after: " + clocks_text(ranks)},
      {"date", utc_now()},
      {"command", request.command},
      {"timer_resolution_ns", number(tick)},
      {"clock_offset_uncertainty_ns", number(std::ceil(std::max(chosen.uncertainty, tick / 2)))},
      {"shape", shape.text()},
      {"measured_by", "validation/fused_embedding: per-WG %globaltimer stamps of thread 0, run of median makespan"},
      {"point", point.name},
      {"order", fused && options.order == Order::remote_first ? "remote_first" : "natural"},
      {"rows_per_table", std::to_string(shape.rows_per_table)},
      {"row_popularity", shape.zipf == 0 ? "uniform" : std::string("zipf ") + zipf},
      {"wgs_per_cu", std::to_string(facts.wgs_per_sm)},
      {"cus", std::to_string(facts.sms)},
      {"end_means", fused ? "all stores of the task issued by every thread; visible at the peer only after the flag's "
                            "release"
                          : "all stores of the task issued by every thread"},
      {"clock_offsets_ns", offsets},
      {"clock_offset_bound_ns", number(chosen.rtt / 2)},
      {"clock_offset_closure_ns", number(chosen.closure)},
      {"clock_offset_asymmetry_ns", number(chosen.asymmetry)},
      {"clock_offset_drift_ns", number(chosen.drift)},
      {"launch_skew_ns", launch_skew(aligned)},
      {"makespan_ns_min_median_max", std::to_string(runs.front().makespan) + " " + std::to_string(chosen.makespan) +
                                         " " + std::to_string(runs.back().makespan)},
      {"repetitions", std::to_string(request.repetitions)},
  };
  if (fused)
    metadata.emplace_back(
        "release_means",
        "from the end of a WG's last task for a peer to its next start the WG waits in the system-scope release");
  const std::string stem = request.out + "/" + point.name;
  if (fused) write_wgs(stem + ".wgs.csv", aligned, metadata);
  write_trace(stem + (fused ? ".wgtrace.csv" : ".unfused.wgtrace.csv"), aligned, shape, metadata);
  for (const auto& [key, value] : metadata) std::printf("  %s: %s\n", key.c_str(), value.c_str());
}

}  // namespace

void write_traces(Bench& bench, const Point& point, const TraceRequest& request) {
  RunOptions options;
  options.record = true;
  options.start_barrier = true;
  write_one(bench, point, request, options);
  options.mode = Mode::unfused_kernel;
  write_one(bench, point, request, options);
}

FusedOverhead fused_overhead(Bench& bench) {
  RunOptions options;
  options.record = true;
  std::vector<double> entries, polls, tails;
  for (int i = 0; i < 4; ++i) {
    bench.run(options);
    if (i == 0) continue;  // warm-up
    std::vector<double> entry, poll;
    double tail = 0;
    for (const RankRecords& rank : bench.records(options)) {
      uint64_t last_task = 0, last_wg = 0;
      for (const WgRecord& w : rank.wgs) {
        entry.push_back(double(w.released_ns - w.entry_ns));
        poll.push_back(double(w.end_ns - w.last_end_ns));
        last_task = std::max(last_task, w.last_end_ns);
        last_wg = std::max(last_wg, w.end_ns);
      }
      tail = std::max(tail, double(last_wg - last_task));
    }
    entries.push_back(median(entry));
    polls.push_back(median(poll));
    tails.push_back(tail);
  }
  return {median(entries) * 1e-3, median(polls) * 1e-3, median(tails) * 1e-3};
}
