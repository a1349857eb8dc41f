// Times every pair of a grid with every strategy: computation alone, communication alone, and both together. Writes one
// row per pair and strategy (case).
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <utility>

#include "cast.hpp"
#include "cuda_check.hpp"
#include "harness.hpp"
#include "provenance.hpp"
#include "statistics.hpp"

namespace {

struct Case {
  const Pair* pair;
  const Strategy* strategy;
  Work* compute;
  Work* comm;
  std::vector<double> compute_alone, comm_alone, both, compute_end, comm_end, gap;
  std::vector<double> clock;  // after a load (see Stage): clock of each repetition, in MHz
  double sm_mhz = 0, watt = 0;
};

std::vector<Case> cast_cases(Cast& cast, const std::vector<Pair>& pairs, const std::vector<Strategy>& strategies) {
  std::vector<Case> cases;
  for (const Pair& p : pairs) {
    for (const Strategy& s : strategies) {
      if (!p.has_collective || !s.fits(p.kind)) continue;
      Case c{};
      c.pair = &p;
      c.strategy = &s;
      c.compute = &cast.compute(p.compute, s.compute_sms);
      c.comm = &cast.collective(p, s);
      cases.push_back(c);
    }
  }
  return cases;
}

// Records the lowest clock and the highest power of the GPUs during the case.
void note_load(Case& c, const std::vector<GpuLoad>& load) {
  for (const GpuLoad& gpu : load) {
    if (!gpu.known) continue;
    c.sm_mhz = c.sm_mhz == 0 ? gpu.sm_mhz : std::min(c.sm_mhz, gpu.sm_mhz);
    c.watt = std::max(c.watt, gpu.watt);
  }
}

void measure(Stage& stage, Case& c, bool counts, bool notes_load) {
  const Strategy& s = *c.strategy;
  std::vector<GpuLoad> load;
  const Ends compute = stage.run(c.compute, nullptr, s.first, s.priority);
  const Ends comm = stage.run(nullptr, c.comm, s.first, s.priority);
  const Ends both = stage.run(c.compute, c.comm, s.first, s.priority, notes_load ? &load : nullptr);
  if (notes_load) note_load(c, load);
  if (!counts) return;
  c.compute_alone.push_back(compute.compute_us);
  c.comm_alone.push_back(comm.comm_us);
  c.both.push_back(both.both_us);
  c.compute_end.push_back(both.compute_us);
  c.comm_end.push_back(both.comm_us);
  c.gap.push_back(both.gap_us);
  if (both.sm_mhz > 0) c.clock.push_back(both.sm_mhz);
}

// Runs a GEMM until the driver's power controller has settled. From then on, the same GEMM runs for `ms` milliseconds
// before every measured run, so that the GPUs have the clock of their power limit.
void hold_at_limit(Cast& cast, const ComputeShape& shape, double ms) {
  constexpr double rest_seconds = 3;
  Work& load = cast.compute(shape, 0);
  double us = 0;
  for (const double end = now_seconds() + rest_seconds; now_seconds() < end;)
    us = cast.stage().run(&load, nullptr, First::compute, false).both_us;
  cast.stage().load_before_runs(load, int(ms * 1e3 / us) + 1);
}

void write_header(Collector& c, const std::string& command, bool direct) {
  std::FILE* file = c.file();
  std::fprintf(file, "# moire-c3 1\n");
  write_provenance(file, c.gpus(), command);
  std::fprintf(file, "# cublaslt: %s\n# nccl: %s, NVLS off, %s\n", Gemm::version().c_str(),
               NcclGroup::version().c_str(),
               direct ? "direct access to peers' buffers" : "through FIFOs as between processes");
  std::fprintf(file,
               "# units: us, of the slowest GPU, from the release of its earlier stream; MHz, lowest GPU; W, highest "
               "GPU\n"
               "# columns: X_us median, X_p10_us, X_p90_us of the repetitions; compute_isolated_us and "
               "comm_isolated_us alone as the strategy sets them (max_ctas, compute_sms), measured before every "
               "repetition of c3_us (both together: the later end); "
               "compute_us, comm_us the two ends when together; gap_us release of communication minus release of "
               "computation; compute_alone to launch: the case as queues of a Moire scenario\n"
               "# gemm: C[m][n] = A[m][k] B[k][n], all row-major bf16, fp32 sums; stream: fp32 out = in + 1, "
               "stream_bytes in and as many out, 8 WGs of 256 threads an SM; compress, decompress: ZFP, stream_bytes "
               "of fp32, 8 bits per value\n"
               "# sm_mhz with --load: clock of an idle SM just before the run, median of the repetitions\n"
               "# collectives: bf16; bytes_per_rank is a rank's input; nccl out of place; copy engines leave own "
               "shares where they are; max_ctas 0: the library's choice; streams 0: one a peer; compute_sms 0: all\n");
  std::fprintf(file,
               "compute,m,n,k,dtype,stream_bytes,collective,bytes_per_rank,gpus,strategy,engine,max_ctas,streams,"
               "priority,first,compute_sms");
  for (const char* x : {"compute_isolated", "comm_isolated", "c3", "compute", "comm"})
    std::fprintf(file, ",%s_us,%s_p10_us,%s_p90_us", x, x, x);
  std::fprintf(file, ",gap_us,repetitions,sm_mhz,power_w,compute_alone,comm_alone,compute_queue,comm_queue,launch\n");
}

std::string queue(const std::string& attributes, const std::string& operations) {
  return "\"{" + attributes + "operations: [" + operations + "]}\"";
}

// Returns the case as columns for a scenario of Moire: each queue alone, both together, and the order in which the host
// launches them.
std::string scenario_columns(const Case& c) {
  const ComputeShape& shape = c.pair->compute;
  const Strategy& s = *c.strategy;
  const auto text = [](int64_t value) { return std::to_string(value); };
  const std::string sms = text(s.compute_sms);
  std::string compute, comm;
  if (shape.is_codec())
    compute =
        "{" + shape.codec + ": {bytes: " + text(shape.stream_bytes) + " B, codec: ../../configs/codecs/zfp.yaml}}";
  else if (shape.is_stream())
    compute = "{stream: {inputs: 1, bytes: " + text(shape.stream_bytes) + " B, schedule: grid_stride}}";
  else
    compute = "{gemm: {m: " + text(shape.m) + ", n: " + text(shape.n) + ", k: " + text(shape.k) + ", dtype: bf16" +
              (s.compute_sms > 0 ? ", cus: " + sms : "") + "}}";
  comm = "{" + name_of(c.pair->kind) + ": {bytes_per_rank: " + text(c.pair->bytes_per_rank) + " B";
  if (s.copy_engine)
    comm += std::string(", engine: dma, streams: ") + (s.streams == 0 ? "per_peer" : "1");
  else if (s.max_ctas > 0)
    comm += ", channels: " + text(s.max_ctas);
  comm += "}}";
  const std::string limit = shape.is_stream() && s.compute_sms > 0 ? "cu_limit: " + sms + ", " : "";
  const std::string high = s.priority ? "priority: high, " : "";
  const std::string hold = "{delay: {time: " + text(int64_t(Stage::kHoldNs)) + " ns}}, ";
  const bool compute_first = s.first == First::compute;
  return queue(limit, compute) + "," + queue("", comm) + "," + queue(limit, (compute_first ? "" : hold) + compute) +
         "," + queue(high, (compute_first ? hold : "") + comm) + ",[" + (compute_first ? "compute" : "comm") + "]";
}

void write_row(std::FILE* file, const Case& c, int gpus) {
  const ComputeShape& shape = c.pair->compute;
  const Strategy& s = *c.strategy;
  std::fprintf(file, "%s,%d,%d,%d,%s,%lld,%s,%lld,%d,%s,%s,%d,%d,%d,%s,%d", shape.name.c_str(), shape.m, shape.n,
               shape.k, shape.stream_bytes > 0 ? "fp32" : "bf16", static_cast<long long>(shape.stream_bytes),
               name_of(c.pair->kind).c_str(), static_cast<long long>(c.pair->bytes_per_rank), gpus, s.name.c_str(),
               s.copy_engine ? "copy" : "nccl", s.max_ctas, s.streams, int(s.priority),
               s.first == First::compute ? "compute" : "comm", s.compute_sms);
  for (const std::vector<double>* x : {&c.compute_alone, &c.comm_alone, &c.both, &c.compute_end, &c.comm_end})
    std::fprintf(file, ",%.2f,%.2f,%.2f", quantile(*x, 0.5), quantile(*x, 0.1), quantile(*x, 0.9));
  std::fprintf(file, ",%.2f,%zu,%.0f,%.0f,%s\n", quantile(c.gap, 0.5), c.both.size(),
               c.clock.empty() ? c.sm_mhz : quantile(c.clock, 0.5), c.watt, scenario_columns(c).c_str());
}

// Prints for each strategy the mean fraction of the ideal speed-up that its cases reach.
void print_summary(const std::vector<Case>& cases) {
  std::map<std::string, std::pair<double, int>> sums;
  for (const Case& c : cases) {
    const double a = quantile(c.compute_alone, 0.5), b = quantile(c.comm_alone, 0.5), t = quantile(c.both, 0.5);
    auto& [sum, count] = sums[c.strategy->name];
    sum += ((a + b) / t - 1) / ((a + b) / std::max(a, b) - 1);
    ++count;
  }
  for (const auto& [name, sum] : sums)
    std::fprintf(stderr, "c3_pairs: %-24s %4.0f %% of the ideal speed-up, mean of %d pairs\n", name.c_str(),
                 100 * sum.first / sum.second, sum.second);
}

}  // namespace

int main(int argc, char** argv) {
  // The GEMM library is large, so each of its kernels is loaded when it is first used. Every work runs once before a
  // gate holds the GPUs, because a kernel must not be loaded meanwhile.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  std::string command = "c3_pairs";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  Collector c(argc, argv, "c3_pairs", 0);
  const std::vector<Pair> pairs = read_pairs(c.option("--grid", ""));
  const std::vector<Strategy> strategies = read_strategies(c.option("--strategies", ""));
  const int rounds = std::atoi(c.option("--rounds", "19").c_str());
  const double limit = std::atof(c.option("--seconds", "150").c_str());
  const double load_ms = std::atof(c.option("--load", "0").c_str());
  const bool direct = c.option("--nccl-direct", "0") == "1";
  require_even_shares(c.gpus());
  if (rounds < 1) {
    std::fprintf(stderr, "c3_pairs: --rounds %d; at least 1 would be right\n", rounds);
    return 2;
  }
  NcclGroup::configure(direct);
  std::vector<ComputeShape> shapes = distinct_shapes(pairs);
  const ComputeShape load{"load", 8192, 8192, 8192};
  if (load_ms > 0) shapes.push_back(load);
  Cast cast(c.gpus(), c.sms(), shapes, most_bytes_per_rank(pairs));
  std::vector<Case> cases = cast_cases(cast, pairs, strategies);
  std::fprintf(stderr, "c3_pairs: %zu cases; collectives and GEMMs give right results\n", cases.size());
  write_header(c, command, direct);
  if (load_ms > 0) hold_at_limit(cast, load, load_ms);

  // Every round runs all cases in another order, so that a drift of clocks or temperature affects all cases alike. The
  // first round does not count.
  std::mt19937 random(1);
  const double began = now_seconds();
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = cases.size(); i > 1; --i) std::swap(cases[i - 1], cases[random() % i]);
    for (Case& one : cases) measure(cast.stage(), one, round > 0, round == 1);
    if (now_seconds() - began > limit && round < rounds && round > 0) {
      std::fprintf(stderr, "c3_pairs: %d of %d rounds: --seconds %g are over\n", round, rounds, limit);
      break;
    }
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::make_pair(a.pair, a.strategy) < std::make_pair(b.pair, b.strategy);
  });
  for (const Case& one : cases) write_row(c.file(), one, c.gpus());
  print_summary(cases);
  return 0;
}
