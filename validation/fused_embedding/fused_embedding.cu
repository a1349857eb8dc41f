// Times the fused embedding + All-to-All against its bulk-synchronous form on 2..8 GPUs of one process, and writes the
// WG traces of fused runs. Files in <out>: fused_embedding_timings.csv, fused_embedding_alltoall.wgtrace.csv (remote
// tasks first), fused_embedding_alltoall_natural.wgtrace.csv (natural order), fused_embedding_wgs.csv.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench.hpp"
#include "clock_sync.hpp"
#include "cuda_check.hpp"
#include "gpu_info.hpp"

namespace {

struct NamedShape {
  const char* name;
  Shape shape;
};

struct CommandLine {
  std::string out = ".";
  std::string traced = "balanced";
  int ranks = 4;
  int repetitions = 11;
  int warmups = 3;
  std::string text;
};

struct Statistics {
  double median, least, most;
};

Statistics statistics(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v[v.size() / 2], v.front(), v.back()};
}

// Bytes over NVLink against bytes from HBM, from latency-bound to communication-heavy to gather-heavy.
std::vector<NamedShape> shapes(int ranks) {
  std::vector<NamedShape> list = {
      {"small", {ranks, 4, 1024, 128, 16, 8, 1'000'000}},
      {"balanced", {ranks, 16, 8192, 128, 16, 16, 1'000'000}},
      {"communication_heavy", {ranks, 16, 8192, 128, 4, 16, 1'000'000}},
      {"gather_heavy", {ranks, 16, 4096, 128, 64, 16, 1'000'000}},
      {"wide", {ranks, 16, 4096, 256, 16, 16, 1'000'000}},
  };
  return list;
}

CommandLine parse(int argc, char** argv) {
  CommandLine c;
  for (int i = 0; i < argc; ++i) c.text += (i == 0 ? "" : " ") + std::string(i == 0 ? "fused_embedding" : argv[i]);
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value != nullptr && key == "--out")
      c.out = value;
    else if (value != nullptr && key == "--gpus")
      c.ranks = std::atoi(value);
    else if (value != nullptr && key == "--repetitions")
      c.repetitions = std::atoi(value);
    else if (value != nullptr && key == "--trace-shape")
      c.traced = value;
    else {
      std::fprintf(stderr, "usage: %s [--out DIR] [--gpus 2..8] [--repetitions N] [--trace-shape NAME]\n", argv[0]);
      std::exit(2);
    }
  }
  int present = 0;
  CUDA_CHECK(cudaGetDeviceCount(&present));
  if (c.ranks < 2 || c.ranks > kMaxRanks || c.ranks > present || c.repetitions < 1) {
    std::fprintf(stderr, "%d GPUs asked for, %d present, 2..%d possible\n", c.ranks, present, kMaxRanks);
    std::exit(2);
  }
  return c;
}

void time_mode(Bench& bench, const CommandLine& c, const NamedShape& named, const std::string& mode,
               const RunOptions& options, std::FILE* csv) {
  std::vector<double> us, skew;
  int64_t checked = 0;
  for (int i = 0; i < c.warmups + c.repetitions; ++i) {
    const RunResult r = bench.run(options);
    checked += r.check.checked;
    if (i < c.warmups) continue;
    us.push_back(r.us);
    skew.push_back(r.skew_us);
  }
  const Statistics t = statistics(us);
  const Shape& s = named.shape;
  const bool persistent = options.mode == Mode::fused || options.mode == Mode::fused_traced;
  const int wgs = persistent ? bench.grid(options) : options.mode == Mode::unfused_kernel ? s.tasks() : 0;
  const long long reads =
      options.mode == Mode::copy_kernel ? 0 : static_cast<long long>(s.task_read_bytes()) * s.tasks();
  const long long remote = options.mode == Mode::unfused_kernel ? 0
                                                                : static_cast<long long>(s.task_store_bytes()) *
                                                                      s.tasks_per_destination() * (s.ranks - 1);
  std::fprintf(csv, "%s,%s,%d,%d,%d,%d,%d,%d,%.2f,%.2f,%.2f,%d,%.2f,%lld,%lld,%lld\n", mode.c_str(), named.name,
               s.tables_per_gpu, s.global_batch, s.dim, s.pooling, s.bags_per_task, wgs, t.median, t.least, t.most,
               c.repetitions, statistics(skew).median, reads, remote, static_cast<long long>(checked));
  std::printf("%-28s %-20s wgs %5d  %8.2f us (%.2f..%.2f)  skew %.2f  %.0f GB/s read  %.0f GB/s to peers\n",
              mode.c_str(), named.name, wgs, t.median, t.least, t.most, statistics(skew).median,
              double(reads) / t.median * 1e-3, double(remote) / t.median * 1e-3);
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", v);
  return text;
}

// Timer offsets are measured directly before and after every traced run; the run of median makespan becomes the trace.
void trace_mode(Bench& bench, const CommandLine& c, const NamedShape& named, Order order,
                const std::string& order_name) {
  struct Run {
    std::vector<RankRecords> records;
    std::vector<double> offset;
    double uncertainty, rtt, drift, closure, asymmetry;
    int64_t makespan;
  };
  RunOptions options;
  options.mode = Mode::fused_traced;
  options.order = order;
  const std::string clocks_before = clocks_text(c.ranks);
  ClockSync sync(c.ranks);
  std::vector<Run> runs;
  for (int i = 0; i < c.warmups + c.repetitions; ++i) {
    const ClockOffsets before = sync.measure();
    bench.run(options);
    const ClockOffsets after = sync.measure();
    if (i < c.warmups) continue;
    Run run;
    run.records = bench.records(options);
    run.drift = 0;
    for (int r = 0; r < c.ranks; ++r) {
      run.offset.push_back((before.offset_ns[r] + after.offset_ns[r]) / 2);
      run.drift = std::max(run.drift, std::abs(before.offset_ns[r] - after.offset_ns[r]));
    }
    run.closure = std::max(before.closure_ns, after.closure_ns);
    run.asymmetry = std::max(before.worst_asymmetry_ns, after.worst_asymmetry_ns);
    run.uncertainty = std::max({run.closure, run.asymmetry, run.drift / 2});
    run.rtt = std::max(before.worst_min_rtt_ns, after.worst_min_rtt_ns);
    run.makespan = makespan_ns(run.records, run.offset);
    runs.push_back(std::move(run));
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.makespan < b.makespan; });
  const Run& chosen = runs[runs.size() / 2];
  const double tick = measure_timer_tick(0).tick_ns;
  const KernelFacts facts = bench.facts(options);
  const GpuInfo gpu = gpu_info(0);
  const AlignedRun aligned = align(chosen.records, chosen.offset);

  std::string offsets, skew;
  int64_t first_entry = INT64_MAX;
  std::vector<int64_t> entry(c.ranks, INT64_MAX);
  for (int r = 0; r < c.ranks; ++r) {
    for (const WgRecord& w : aligned.ranks[r].wgs) entry[r] = std::min(entry[r], int64_t(w.entry_ns));
    first_entry = std::min(first_entry, entry[r]);
  }
  for (int r = 0; r < c.ranks; ++r) {
    offsets += (r == 0 ? "" : " ") + number(chosen.offset[r]);
    skew += (r == 0 ? "" : " ") + std::to_string(entry[r] - first_entry);
  }
  const Metadata metadata = {
      {"ranks", std::to_string(c.ranks)},
      {"kernel", "fused_embedding_alltoall"},
      {"wgs_per_rank", std::to_string(bench.grid(options))},
      {"threads_per_wg", std::to_string(kThreads)},
      {"registers_per_thread", std::to_string(facts.registers)},
      {"lds_bytes_per_wg", std::to_string(facts.lds_bytes)},
      {"bytes_in_flight_per_wg", std::to_string(kBytesInFlightPerWg)},
      {"recorded_end_ns", std::to_string(aligned.end_ns)},
      {"gpu", gpu.name},
      {"driver", gpu.driver},
      {"cuda", gpu.cuda},
      {"clocks", "before: " + clocks_before + "; after: " + clocks_text(c.ranks)},
      {"date", utc_now()},
      {"command", c.text},
      {"timer_resolution_ns", number(tick)},
      {"clock_offset_uncertainty_ns", number(std::ceil(std::max(chosen.uncertainty, tick / 2)))},
      {"shape", named.shape.text()},
      {"measured_by", "validation/fused_embedding: per-WG %globaltimer stamps of thread 0, run of median makespan"},
      {"order", order_name},
      {"rows_per_table", std::to_string(named.shape.rows_per_table)},
      {"wgs_per_cu", std::to_string(facts.wgs_per_sm)},
      {"cus", std::to_string(facts.sms)},
      {"end_means", "all stores of the task issued by every thread; visible at the peer only after the flag's release"},
      {"release_means",
       "from the end of a WG's last task for a peer to its next start the WG waits in the system-scope release"},
      {"clock_offsets_ns", offsets},
      {"clock_offset_bound_ns", number(chosen.rtt / 2)},
      {"clock_offset_closure_ns", number(chosen.closure)},
      {"clock_offset_asymmetry_ns", number(chosen.asymmetry)},
      {"clock_offset_drift_ns", number(chosen.drift)},
      {"launch_skew_ns", skew},
      {"makespan_ns_min_median_max", std::to_string(runs.front().makespan) + " " + std::to_string(chosen.makespan) +
                                         " " + std::to_string(runs.back().makespan)},
      {"repetitions", std::to_string(c.repetitions)},
  };
  const std::string stem = c.out + "/fused_embedding_alltoall" + (order == Order::remote_first ? "" : "_" + order_name);
  write_trace(stem + ".wgtrace.csv", aligned, named.shape, metadata);
  if (order == Order::remote_first) write_wgs(c.out + "/fused_embedding_wgs.csv", aligned, metadata);
  for (const auto& [key, value] : metadata) std::printf("  %s: %s\n", key.c_str(), value.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  // Lazily loaded kernels would be loaded while a gate spins, which can wait for the gate: a deadlock.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const CommandLine c = parse(argc, argv);
  const std::vector<NamedShape> list = shapes(c.ranks);
  int64_t tables = 0, indices = 0, outputs = 0;
  for (const NamedShape& n : list) {
    tables = std::max(tables, n.shape.table_bytes());
    indices = std::max(indices, n.shape.index_count());
    outputs = std::max(outputs, n.shape.output_floats());
  }
  Bench bench(c.ranks, tables, indices, outputs);
  const std::string path = c.out + "/fused_embedding_timings.csv";
  std::FILE* csv = std::fopen(path.c_str(), "w");
  if (csv == nullptr) {
    std::perror(path.c_str());
    return 1;
  }
  std::fprintf(csv,
               "mode,shape,tables_per_gpu,global_batch,dim,pooling,bags_per_task,wgs_per_rank,median_us,min_us,max_us,"
               "repetitions,rank_skew_us,read_bytes_per_rank,remote_bytes_per_rank,checked_elements\n");
  for (const NamedShape& named : list) {
    bench.set_shape(named.shape);
    if (c.traced == named.name) {
      trace_mode(bench, c, named, Order::remote_first, "remote_first");
      trace_mode(bench, c, named, Order::natural, "natural");
    }
    const auto time = [&](const std::string& mode, RunOptions options) {
      time_mode(bench, c, named, mode, options, csv);
    };
    time("unfused_kernel", {.mode = Mode::unfused_kernel});
    time("copy_kernel", {.mode = Mode::copy_kernel});
    time("bulk_synchronous", {.mode = Mode::bulk_synchronous});
    time("fused", {});
    time("fused_interleaved_order", {.order = Order::remote_first_interleaved});
    time("fused_natural_order", {.order = Order::natural});
    time("fused_visible_per_task", {.visible = true});
    time("fused_traced", {.mode = Mode::fused_traced});
    if (c.traced == named.name) {
      for (int per_sm = 1; per_sm < bench.facts({}).wgs_per_sm; ++per_sm) {
        time("fused_" + std::to_string(per_sm) + "_wgs_per_sm", {.wgs_per_sm = per_sm});
      }
    }
    time("bulk_synchronous_repeat", {.mode = Mode::bulk_synchronous});
    time("fused_repeat", {});
    std::fflush(csv);
  }
  if (std::fclose(csv) != 0) {
    std::perror(path.c_str());
    return 1;
  }
  std::printf("clocks after all: %s\n", clocks_text(c.ranks).c_str());
  return 0;
}
