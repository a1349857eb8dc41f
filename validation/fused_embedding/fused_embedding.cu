// Times the embedding + All-to-All on 2 to 8 GPUs of one process for a grid of points (named shapes). The modes are
// bulk-synchronous with NCCL, copy engines or SMs, the embedding kernel and the exchanges alone, and fused. Writes
// operator.csv, and WG traces of the points that --trace names.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "cuda_check.hpp"
#include "gpu_info.hpp"
#include "grid.hpp"
#include "nccl_exchange.hpp"
#include "trace_mode.hpp"

namespace {

struct CommandLine {
  std::string grid;
  std::string out = ".";
  std::vector<std::string> traced;
  int ranks = 4;
  int repetitions = 11;
  int resident = 0;  // most WGs of an embedding kernel on an SM; 0: as many as fit
  int warmups = 3;
  bool count = false;  // launch the kernels of every point once, for a profiler
  std::string text;
};

CommandLine parse(int argc, char** argv) {
  CommandLine c;
  for (int i = 0; i < argc; ++i) c.text += (i == 0 ? "" : " ") + std::string(i == 0 ? "fused_embedding" : argv[i]);
  bool good = true;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--count") {
      c.count = true;
      --i;  // the option has no value
      continue;
    }
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value != nullptr && key == "--grid") {
      c.grid = value;
    } else if (value != nullptr && key == "--out") {
      c.out = value;
    } else if (value != nullptr && key == "--gpus") {
      c.ranks = std::atoi(value);
    } else if (value != nullptr && key == "--repetitions") {
      c.repetitions = std::atoi(value);
    } else if (value != nullptr && key == "--resident") {
      c.resident = std::atoi(value);
    } else if (value != nullptr && key == "--trace") {
      std::string names = value;
      for (size_t comma; (comma = names.find(',')) != std::string::npos; names.erase(0, comma + 1))
        c.traced.push_back(names.substr(0, comma));
      c.traced.push_back(names);
    } else {
      good = false;
    }
  }
  if (!good || c.grid.empty()) {
    std::fprintf(stderr,
                 "usage: %s --grid GRID.csv [--out DIR] [--gpus 1..8] [--repetitions N] [--resident WGS_OF_AN_SM] "
                 "[--trace NAME,NAME,...] [--count]\n",
                 argv[0]);
    std::exit(2);
  }
  int present = 0;
  CUDA_CHECK(cudaGetDeviceCount(&present));
  if (c.ranks < 1 || c.ranks > kMaxRanks || c.ranks > present || c.repetitions < 1 || c.resident < 0 ||
      c.resident > 8) {
    std::fprintf(stderr, "%d GPUs asked for, %d present, 1..%d possible; --resident %d, 0..8 possible\n", c.ranks,
                 present, kMaxRanks, c.resident);
    std::exit(2);
  }
  return c;
}

std::string without_commas(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  return text;
}

void write_header(std::FILE* csv, const CommandLine& c) {
  const GpuInfo gpu = gpu_info(0);
  const std::pair<const char*, std::string> lines[] = {
      {"gpu", gpu.name},
      {"gpus", std::to_string(c.ranks)},
      {"driver", gpu.driver},
      {"cuda", gpu.cuda},
      {"nccl", NcclExchange::version() + ", NVLS off"},
      {"date", utc_now()},
      {"command", c.text},
      {"clocks_before", clocks_text(c.ranks)},
      {"units", "times in us (events of the slowest GPU, from a common gate); sizes in elements, rows and samples"},
      {"columns",
       "of the repetitions: X_us median, X_mean_us mean, X_low_us least, X_high_us most, X_skew_us median of slowest "
       "minus fastest GPU; in_flight_bytes a WG; fused_entry_us, fused_poll_us, fused_tail_us see "
       "validation/README.md"},
  };
  for (const auto& [key, value] : lines) std::fprintf(csv, "# %s: %s\n", key, value.c_str());
  std::fprintf(csv,
               "name,gpus,tables_per_gpu,global_batch,pooling,dim,dtype,zipf,rows_per_table,bags_per_task,wgs_per_gpu,"
               "registers_fused,registers_unfused,wgs_per_sm_fused,wgs_per_sm_unfused,in_flight_bytes");
  for (const Mode mode : kModes)
    for (const char* what : {"us", "mean_us", "low_us", "high_us", "skew_us"})
      std::fprintf(csv, ",%s_%s", name_of(mode), what);
  std::fprintf(csv, ",fused_entry_us,fused_poll_us,fused_tail_us,repetitions,clocks\n");
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Measures a mode and writes five cells of a CSV row: median, mean, minimum and maximum of the times, and the skew. The
// cells are empty if the mode could not run.
void time_mode(Bench& bench, const CommandLine& c, Mode mode, std::FILE* csv) {
  RunOptions options;
  options.mode = mode;
  std::vector<double> us, skew;
  for (int i = 0; i < c.warmups + c.repetitions; ++i) {
    options.checked_elements = i == 0 ? 16'384 : 1'024;
    const RunResult r = bench.run(options);
    if (!r.done) {
      std::fprintf(csv, ",,,,,");
      return;
    }
    if (i < c.warmups) continue;
    us.push_back(r.us);
    skew.push_back(r.skew_us);
  }
  const double mean = std::accumulate(us.begin(), us.end(), 0.) / double(us.size());
  std::fprintf(csv, ",%.2f,%.2f,%.2f,%.2f,%.2f", median(us), mean, *std::min_element(us.begin(), us.end()),
               *std::max_element(us.begin(), us.end()), median(skew));
  std::printf(" %s %.2f", name_of(mode), median(us));
}

void measure(Bench& bench, const CommandLine& c, const Point& point, std::FILE* csv) {
  const Shape& s = point.shape;
  bench.set_shape(s);
  RunOptions fused, unfused;
  unfused.mode = Mode::unfused_kernel;
  const KernelFacts ff = bench.facts(fused), uf = bench.facts(unfused);
  std::fprintf(csv, "%s,%d,%d,%d,%d,%d,%s,%g,%d,%d,%d,%d,%d,%d,%d,%d", point.name.c_str(), c.ranks, s.tables_per_gpu,
               s.global_batch, s.pooling, s.dim, kDtypeNames[int(s.dtype)], s.zipf, s.rows_per_table, s.bags_per_task,
               ff.grid, ff.registers, uf.registers, ff.wgs_per_sm, uf.wgs_per_sm, s.bytes_in_flight_per_wg());
  std::printf("%s:", point.name.c_str());
  for (const Mode mode : kModes) time_mode(bench, c, mode, csv);
  const FusedOverhead overhead = fused_overhead(bench);
  std::fprintf(csv, ",%.2f,%.2f,%.2f,%d,%s\n", overhead.entry_us, overhead.poll_us, overhead.tail_us, c.repetitions,
               without_commas(clocks_text(c.ranks)).c_str());
  std::printf(" us; entry %.2f poll %.2f tail %.2f us\n", overhead.entry_us, overhead.poll_us, overhead.tail_us);
  std::fflush(csv);
  std::fflush(stdout);
  if (std::find(c.traced.begin(), c.traced.end(), point.name) == c.traced.end()) return;
  write_traces(bench, point, {c.out, c.text, c.repetitions, c.warmups});
}

}  // namespace

int main(int argc, char** argv) {
  // Loads all kernels at the start. A kernel that is loaded at its first launch could wait for a gate that spins, and
  // the gate waits for the host: a deadlock.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const CommandLine c = parse(argc, argv);
  const std::vector<Point> points = read_grid(c.grid, c.ranks);
  for (const std::string& name : c.traced) {
    if (std::none_of(points.begin(), points.end(), [&](const Point& p) { return p.name == name; })) {
      std::fprintf(stderr, "--trace %s: %s has no such point for %d GPUs\n", name.c_str(), c.grid.c_str(), c.ranks);
      return 2;
    }
  }
  std::vector<Shape> shapes;
  for (const Point& p : points) shapes.push_back(p.shape);
  Bench bench(c.ranks, shapes, c.resident);
  if (c.count) {
    for (const Point& point : points) {
      bench.set_shape(point.shape);
      for (const Mode mode : {Mode::unfused_kernel, Mode::fused}) {
        std::printf("%s %s %d\n", point.name.c_str(), name_of(mode), point.shape.tasks());
        RunOptions options;
        options.mode = mode;
        options.gated = false;
        bench.run(options);
      }
    }
    return 0;
  }
  const std::string path = c.out + "/operator.csv";
  std::FILE* csv = std::fopen(path.c_str(), "w");
  if (csv == nullptr) {
    std::perror(path.c_str());
    return 1;
  }
  write_header(csv, c);
  for (const Point& point : points) measure(bench, c, point, csv);
  const bool failed = std::ferror(csv) != 0;
  if (std::fclose(csv) != 0 || failed) {
    std::fprintf(stderr, "%s: write failed\n", path.c_str());
    return 1;
  }
  return 0;
}
