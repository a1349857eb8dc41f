// Times the small plans of micro.py, each of which isolates one cost, and writes rows of the measurements file.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench.hpp"
#include "csv_rows.hpp"
#include "cuda_check.hpp"

namespace {

constexpr uint64_t kLimitNs = 2'000'000'000;
constexpr uint64_t kStuckNs = 200'000'000;  // time limit for plans that may hang
constexpr int kRounds = 9;

struct Row {
  std::string benchmark, file, parameters;
  int64_t bytes;
};

// Returns the parameters of a text "key=value key=value", as micro.py writes it.
Parameters parameters_of(const std::string& text) {
  Parameters p;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size()), equals = text.find('=', at);
    p(text.substr(at, equals - at).c_str(), std::atoll(text.c_str() + equals + 1));
    at = end + 1;
  }
  return p;
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "msccl_micro", 0);
  const std::vector<Plan> plans = read_plans(c.option("--plans", ""));
  std::vector<Row> rows;
  int64_t most = 0;
  const auto plan_of = [&](const std::string& file) {
    const auto found = std::find_if(plans.begin(), plans.end(), [&](const Plan& p) { return p.file == file; });
    return found == plans.end() ? nullptr : &*found;
  };
  read_csv_rows(c.option("--grid", ""), "benchmark,file,parameters,bytes", [&](CsvRow& row) {
    const Plan* plan = plan_of(row.text(1));
    const auto bytes = int64_t(row.number(3, 16, 1e10));
    Cut cut;
    if (plan == nullptr) return row.fail("--plans has no " + row.text(1));
    const std::string problem = cut_of(*plan, bytes, cut);
    if (!problem.empty()) return row.fail(problem);
    if (plan->ranks() > c.gpus()) return;
    rows.push_back({row.text(0), row.text(1), row.text(2), bytes});
    most = std::max(most, Bench::buffer_bytes(*plan, bytes));
  });
  Bench bench(c.gpus(), c.gpus(), c.sms(), most);
  std::unique_ptr<LoadedPlan> loaded;
  std::string benchmark;
  bool wanted = false;
  for (const Row& row : rows) {
    if (row.benchmark != benchmark) wanted = c.wants((benchmark = row.benchmark).c_str());
    if (!wanted) continue;
    if (loaded == nullptr || loaded->plan().file != row.file) {
      loaded.reset();
      loaded = std::make_unique<LoadedPlan>(*plan_of(row.file), c.gpus(), c.sms());
    }
    const Parameters parameters = parameters_of(row.parameters);
    if (benchmark == "msccl_fifo") {  // the measured value is whether the plan ends
      const RunResult result = bench.run(*loaded, row.bytes, kStuckNs);
      c.row(benchmark.c_str(), parameters, "ended", {result.ended ? 1.0 : 0.0}, "1");
      if (!result.ended)
        std::fprintf(stderr, "%s, %lld bytes: %s\n", row.file.c_str(), static_cast<long long>(row.bytes),
                     result.stuck.c_str());
      continue;
    }
    std::vector<double> us, inside;
    for (int i = 0; i < kWarmups + kRounds; ++i) {
      const RunResult result = bench.run(*loaded, row.bytes, kLimitNs);
      if (!result.ended) {
        std::fprintf(stderr, "%s: %lld bytes: it does not end: %s\n", row.file.c_str(),
                     static_cast<long long>(row.bytes), result.stuck.c_str());
        return 1;
      }
      if (i < kWarmups) continue;
      us.push_back(result.us);
      inside.push_back(result.inside_us);
    }
    c.row(benchmark.c_str(), parameters, "time", us, "us");
    c.row(benchmark.c_str(), parameters, "inside", inside, "us");
  }
  return 0;
}
