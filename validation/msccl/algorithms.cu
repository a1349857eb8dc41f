// Times algorithms for several sizes and writes a table that `moire validate` reads, one row per case.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "bench.hpp"
#include "csv_rows.hpp"
#include "cuda_check.hpp"
#include "gpu_info.hpp"
#include "provenance.hpp"

namespace {

constexpr uint64_t kLimitNs = 2'000'000'000;
constexpr uint64_t kStuckNs = 200'000'000;  // time limit of a wait in cases that are expected to hang

struct Case {
  LoadedPlan* loaded;
  int64_t bytes;
  bool hangs;  // the case is expected to hang, because the FIFOs are too short for this size
  std::vector<double> us, inside, skew;
  double sm_mhz = 0, watt = 0;
};

struct Range {
  std::string file;
  int64_t least, most;
  int64_t hangs_above;  // 0: never
};

std::vector<Range> read_grid(const std::string& path) {
  std::vector<Range> ranges;
  read_csv_rows(path, "file,least_bytes,most_bytes,hangs_above_bytes", [&](CsvRow& row) {
    ranges.push_back({row.text(0), int64_t(row.number(1, 16, 1e10)), int64_t(row.number(2, 16, 1e10)),
                      int64_t(row.number(3, 0, 1e10))});
  });
  return ranges;
}

// Returns the sizes in bytes: 1 KiB, 4 KiB, 16 KiB, ..., or for the held-out cases sizes between them: 3 KiB, 12 KiB,
// ...
std::vector<int64_t> sizes(const Range& range, bool held_out) {
  std::vector<int64_t> all;
  for (int64_t bytes = range.least * (held_out ? 3 : 1); bytes <= range.most; bytes *= 4) all.push_back(bytes);
  return all;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

void write_header(Collector& c, const std::string& command) {
  std::FILE* file = c.file();
  std::fprintf(file, "# moire-msccl 1\n");
  write_provenance(file, c.gpus(), command);
  std::fprintf(
      file,
      "# units: us, of the slowest GPU, between events around the kernel from a common start; inside_us on the "
      "GPU's timer, its first block's first instruction to its last block's end; skew_us slowest minus fastest "
      "GPU; MHz, lowest GPU; W, highest GPU\n"
      "# columns: time_us median of the repetitions, time_low_us least, time_high_us most; inside_us and "
      "skew_us medians; bytes: the whole buffer (all ranks' parts); blocks: thread blocks of a GPU, most\n"
      "# interpreter: fp32 sums, Simple 512 + 32 threads and 8 loads of 16 B a thread, LL 512 threads of 8 B; "
      "every element of every run is checked\n");
  std::fprintf(file,
               "algorithm,file,collective,protocol,in_place,gpus,channels,chunks,blocks,bytes,time_us,time_low_us,"
               "time_high_us,inside_us,skew_us,repetitions,sm_mhz,power_w\n");
}

void write_row(std::FILE* file, const Case& c) {
  const Plan& p = c.loaded->plan();
  std::fprintf(file, "%s,%s,%s,%s,%d,%d,%d,%d,%d,%lld,%.2f,%.2f,%.2f,%.2f,%.2f,%zu,%.0f,%.0f\n",
               p.file.substr(0, p.file.rfind('.')).c_str(), p.file.c_str(), kCollNames[size_t(p.coll)].c_str(),
               p.ll ? "LL" : "Simple", int(p.in_place), p.ranks(), p.channels, p.chunks, p.most_blocks(),
               static_cast<long long>(c.bytes), median(c.us), *std::min_element(c.us.begin(), c.us.end()),
               *std::max_element(c.us.begin(), c.us.end()), median(c.inside), median(c.skew), c.us.size(), c.sm_mhz,
               c.watt);
}

void note_load(Case& c, int gpus) {
  for (int r = 0; r < gpus; ++r) {
    const GpuLoad load = gpu_load(r);
    if (!load.known) continue;
    c.sm_mhz = c.sm_mhz == 0 ? load.sm_mhz : std::min(c.sm_mhz, load.sm_mhz);
    c.watt = std::max(c.watt, load.watt);
  }
}

// Runs every case once, checks its result, and writes whether it ended. If it did not end, the report shows what each
// thread block was waiting for.
bool run_once(Bench& bench, const std::vector<Case>& cases, int gpus, const std::string& command,
              const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    return false;
  }
  write_provenance(file, gpus, command);
  std::fprintf(file, "file,ranks,bytes,should_end,ended,waiting\n");
  for (const Case& one : cases) {
    const Plan& plan = one.loaded->plan();
    const RunResult result = bench.run(*one.loaded, one.bytes, one.hangs ? kStuckNs : kLimitNs);
    std::fprintf(file, "%s,%d,%lld,%d,%d,%s\n", plan.file.c_str(), plan.ranks(), static_cast<long long>(one.bytes),
                 int(!one.hangs), int(result.ended), result.stuck.c_str());
    std::fflush(file);
  }
  return std::fclose(file) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "msccl_algorithms", 0);
  const std::string command = c.option("--command", "msccl_algorithms");
  const std::vector<Plan> plans = read_plans(c.option("--plans", ""));
  const std::vector<Range> grid = read_grid(c.option("--grid", ""));
  const bool held_out = c.option("--held-out", "0") == "1";
  const int rounds = std::atoi(c.option("--rounds", "15").c_str());
  const double limit = std::atof(c.option("--seconds", "60").c_str());
  // If there are more ranks than GPUs, ranks share GPUs. Times then have no meaning, so each case runs once and only
  // its result is checked.
  const int ranks = std::max(c.gpus(), std::atoi(c.option("--ranks", "0").c_str()));
  if (ranks > kMaxRanks) {
    std::fprintf(stderr, "msccl_algorithms: --ranks %d; at most %d would be right\n", ranks, kMaxRanks);
    return 2;
  }
  if (rounds < 1) {
    std::fprintf(stderr, "msccl_algorithms: --rounds %d; at least 1 would be right\n", rounds);
    return 2;
  }

  std::vector<std::unique_ptr<LoadedPlan>> loaded;
  std::vector<Case> cases, once;
  int64_t most = 0;
  for (const Range& range : grid) {
    const auto found = std::find_if(plans.begin(), plans.end(), [&](const Plan& p) { return p.file == range.file; });
    if (found == plans.end()) {
      std::fprintf(stderr, "msccl_algorithms: --plans has no %s\n", range.file.c_str());
      return 2;
    }
    if (found->ranks() != ranks) continue;
    loaded.push_back(std::make_unique<LoadedPlan>(*found, c.gpus(), c.sms()));
    for (const int64_t bytes : sizes(range, held_out)) {
      Cut cut;
      const std::string problem = cut_of(*found, bytes, cut);
      if (!problem.empty()) {
        std::fprintf(stderr, "%s: %lld bytes left out: %s\n", range.file.c_str(), static_cast<long long>(bytes),
                     problem.c_str());
        continue;
      }
      Case one{};
      one.loaded = loaded.back().get();
      one.bytes = bytes;
      one.hangs = range.hangs_above > 0 && bytes > range.hangs_above;
      (one.hangs || c.gpus() < ranks ? once : cases).push_back(one);
      most = std::max(most, Bench::buffer_bytes(*found, bytes));
    }
  }
  if (cases.empty() && once.empty()) {
    std::fprintf(stderr, "msccl_algorithms: no algorithm of the grid is for %d ranks\n", ranks);
    return 2;
  }
  Bench bench(ranks, c.gpus(), c.sms(), most);
  const std::string once_table = c.option("--once", "");
  if (!once_table.empty() && !run_once(bench, once, c.gpus(), command, once_table)) return 1;
  if (cases.empty()) return 0;

  // Every round runs all cases in another order, so that a drift of clocks or temperature affects all cases alike. The
  // first round does not count.
  std::vector<size_t> order(cases.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(1);
  const double began = now_seconds();
  for (int round = 0; round <= rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      Case& one = cases[i];
      const RunResult result = bench.run(*one.loaded, one.bytes, kLimitNs);
      if (!result.ended) {
        std::fprintf(stderr, "%s: %lld bytes: it does not end: %s\n", one.loaded->plan().file.c_str(),
                     static_cast<long long>(one.bytes), result.stuck.c_str());
        return 1;
      }
      if (round == 1) note_load(one, c.gpus());
      if (round == 0) continue;
      one.us.push_back(result.us);
      one.inside.push_back(result.inside_us);
      one.skew.push_back(result.skew_us);
    }
    if (round == 0) std::fprintf(stderr, "msccl_algorithms: %zu cases give right results\n", cases.size());
    if (now_seconds() - began > limit && round < rounds && round > 0) {
      std::fprintf(stderr, "msccl_algorithms: %d of %d rounds: --seconds %g are over\n", round, rounds, limit);
      break;
    }
  }
  write_header(c, command);
  for (const Case& one : cases) write_row(c.file(), one);
  return 0;
}
