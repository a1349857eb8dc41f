// Times GEMM + ReduceScatter and AllGather + GEMM, as fused kernels and by libraries, and the GEMMs and collectives
// alone. Writes one row per case, and traces of the tiles of some cases.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "collective.hpp"
#include "cuda_check.hpp"
#include "evict_l2.hpp"
#include "gpu_traffic.hpp"
#include "harness.hpp"
#include "operators.hpp"
#include "provenance.hpp"
#include "stage.hpp"
#include "statistics.hpp"

namespace {

// pause after a run, as a multiple of its time: without pauses, the clocks fall after 40 ms of GEMMs
constexpr double kPause = 3;
constexpr int kTracedRuns = 5;
constexpr double kCountedSeconds = 2, kBeforeCounting = 0.4;

struct Measured {
  std::unique_ptr<Operator> op;
  std::vector<double> us, kernel_mhz;
  double sm_mhz = 0, watt = 0;
};

std::string text_of(const Case& c) {
  char text[128];
  std::snprintf(text, sizeof text, "%s_m%d_n%d_k%d_c%d_%s", kModeNames[size_t(c.mode)].c_str(), c.m, c.n, c.k, c.chunks,
                c.swizzle ? "on" : "off");
  return text;
}

double run(Stage& stage, Operator& op, std::vector<GpuLoad>* load) {
  op.prepare();
  const double us = stage.run(&op, nullptr, First::compute, false, load).compute_us;
  std::this_thread::sleep_for(std::chrono::microseconds(int64_t(std::max(1000.0, kPause * us))));
  return us;
}

// Runs an operator with poisoned outputs. Returns true if its result is right; other cases are not measured.
bool works(Stage& stage, Operator& op) {
  op.prepare();
  stage.warm(op);
  op.poison();
  run(stage, op, nullptr);
  if (op.gave_up()) {
    std::fprintf(stderr, "%s: a wait of a kernel timed out\n", text_of(op.what()).c_str());
    return false;
  }
  return op.right();
}

void measure(Stage& stage, Measured& one, bool counts, bool notes_load) {
  std::vector<GpuLoad> load;
  one.op->kernel_mhz();
  const double us = run(stage, *one.op, notes_load ? &load : nullptr);
  for (const GpuLoad& gpu : load) {
    if (!gpu.known) continue;
    one.sm_mhz = one.sm_mhz == 0 ? gpu.sm_mhz : std::min(one.sm_mhz, gpu.sm_mhz);
    one.watt = std::max(one.watt, gpu.watt);
  }
  if (one.op->gave_up()) {
    std::fprintf(stderr, "%s: a wait of a kernel timed out in a timed run\n", text_of(one.op->what()).c_str());
    std::exit(1);
  }
  if (!counts) return;
  one.us.push_back(us);
  one.kernel_mhz.push_back(one.op->kernel_mhz());
}

// Records kTracedRuns runs and keeps the trace of the run with the median length.
void trace(Stage& stage, Operator& op, const std::string& folder, const std::string& command) {
  const std::string path = folder + "/" + text_of(op.what()) + ".wgtrace.csv";
  const Case& c = op.what();
  const int tiles = (c.m + 127) / 128 * (c.n / 256), workgroups = op.workgroups();
  moire_record::Recorder recorder(op.gpus(), uint32_t(workgroups), uint32_t((tiles / workgroups + 2) * 4));
  moire_record::Kernel kernel = op.description();
  const GpuInfo info = gpu_info(0);
  kernel.more = {{"gpu", info.name},
                 {"driver", info.driver},
                 {"cuda", info.cuda},
                 {"command", command},
                 {"date", utc_now()},
                 {"measured_by", "validation/flux"},
                 {"shape", "m=" + std::to_string(c.m) + ",n=" + std::to_string(c.n) + ",k=" + std::to_string(c.k)}};
  op.record(&recorder);
  op.prepare();
  stage.warm(op);
  std::vector<long long> lengths;
  for (int i = 0; i < kTracedRuns; ++i) {
    recorder.clear();
    run(stage, op, nullptr);
    if (op.gave_up()) std::fprintf(stderr, "%s: a wait of a kernel timed out\n", path.c_str());
    lengths.push_back(recorder.write(path + "." + std::to_string(i), kernel));
  }
  op.record(nullptr);
  std::vector<long long> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  const auto kept = std::find(lengths.begin(), lengths.end(), sorted[sorted.size() / 2]) - lengths.begin();
  for (int i = 0; i < kTracedRuns; ++i) {
    const std::string name = path + "." + std::to_string(i);
    if ((i == kept ? std::rename(name.c_str(), path.c_str()) : std::remove(name.c_str())) != 0)
      std::perror(name.c_str());
  }
}

// What a run moves, in the mean over the GPUs.
struct RunTraffic {
  int runs = 0;
  double memory_s = 0;  // bytes read from and written to memory, as time at its peak bandwidth
  double sent = 0;      // bytes over NVLink
};

// Repeats a run with its usual pauses. Without an operator, a run is only what precedes every run: it reads
// kFlushBytes.
RunTraffic count_traffic(Stage& stage, Operator* op, int gpus) {
  std::vector<std::unique_ptr<TrafficCounter>> counters;
  RunTraffic of;
  double since = now_seconds();
  const double began = since;
  while (counters.empty() || now_seconds() - since < kCountedSeconds) {
    if (counters.empty() && now_seconds() - began > kBeforeCounting) {
      for (int gpu = 0; gpu < gpus; ++gpu) counters.push_back(std::make_unique<TrafficCounter>(gpu));
      since = now_seconds();
    }
    if (op != nullptr) {
      run(stage, *op, nullptr);
    } else {
      stage.run(nullptr, nullptr, First::compute, false, nullptr);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!counters.empty()) ++of.runs;
  }
  std::vector<GpuTraffic> counted;
  for (const auto& counter : counters) counted.push_back(counter->mean());
  const double seconds = (now_seconds() - since) / of.runs;
  for (const GpuTraffic& one : counted) {
    if (!one.known) {
      std::fprintf(stderr, "flux: this GPU or its driver has no counters of its traffic\n");
      std::exit(1);
    }
    of.memory_s += one.memory_share * seconds / gpus;
    of.sent += one.sent_per_s * seconds / gpus;
  }
  return of;
}

// Writes what every case moves. The scale of the memory's counter follows from what precedes every run.
void write_traffic(std::FILE* file, Stage& stage, const std::vector<Measured>& cases, int gpus,
                   const std::string& command) {
  const RunTraffic before = count_traffic(stage, nullptr, gpus);
  const double peak = double(kFlushBytes) / before.memory_s;
  std::fprintf(file, "# moire-flux-traffic 1\n");
  write_provenance(file, gpus, command);
  std::fprintf(file,
               "# columns: m, n, k of the GEMM of one GPU; memory_mb: 10^6 B that a run reads from and writes to its "
               "memory, mean of the GPUs, by NVML's counters, of which 100 %% are %.0f GB/s; sent_mb over NVLink\n"
               "mode,ranks,m,n,k,chunks,swizzle,runs,memory_mb,sent_mb\n",
               peak / 1e9);
  for (const Measured& one : cases) {
    const Case& c = one.op->what();
    const RunTraffic of = count_traffic(stage, one.op.get(), gpus);
    std::fprintf(file, "%s,%d,%d,%d,%d,%d,%s,%d,%.1f,%.1f\n", kModeNames[size_t(c.mode)].c_str(), gpus, c.m, c.n, c.k,
                 c.chunks, c.swizzle ? "on" : "off", of.runs, (of.memory_s - before.memory_s) * peak / 1e6,
                 of.sent / 1e6);
    std::fflush(file);
  }
}

void write_header(Collector& c, const std::string& command) {
  std::FILE* file = c.file();
  std::fprintf(file, "# moire-flux 1\n");
  write_provenance(file, c.gpus(), command);
  std::fprintf(file, "# cublaslt: %s\n# nccl: %s, NVLS off, through FIFOs as between processes\n",
               Gemm::version().c_str(), nccl_version().c_str());
  std::fprintf(
      file,
      "# columns: m, n, k of the GEMM of one GPU; whole_n, whole_k of the product over all ranks; share a rank's "
      "rows of A or of the result; chunks of a rank's rows of A; time_us median, p10_us and p90_us of the repetitions, "
      "of the slowest GPU, from the common start; sm_mhz NVML, lowest GPU, in one run; kernel_mhz cycles of one SM "
      "over "
      "the time of the GEMM kernel, median, 0: a library's kernel; power_w highest GPU\n"
      "# gemm: C[m][n] = A[m][k] B[n][k], bf16, fp32 sums; the L2 holds nothing of them before\n"
      "mode,ranks,m,n,k,whole_n,whole_k,share,chunks,swizzle,time_us,p10_us,p90_us,repetitions,sm_mhz,kernel_mhz,"
      "power_w\n");
}

void write_row(std::FILE* file, const Measured& one, int gpus) {
  const Case& c = one.op->what();
  const bool gathers = is_gather(c.mode), scatters = is_scatter(c.mode);
  const long long share = 2LL * c.m / gpus * (gathers ? c.k : scatters ? c.n : 0);
  std::fprintf(file, "%s,%d,%d,%d,%d,%d,%d,%lld B,%d,%s,%.2f,%.2f,%.2f,%zu,%.0f,%.0f,%.0f\n",
               kModeNames[size_t(c.mode)].c_str(), gpus, c.m, c.n, c.k, gathers ? c.n * gpus : c.n,
               scatters ? c.k * gpus : c.k, share, c.chunks, c.swizzle ? "on" : "off", quantile(one.us, 0.5),
               quantile(one.us, 0.1), quantile(one.us, 0.9), one.us.size(), one.sm_mhz, quantile(one.kernel_mhz, 0.5),
               one.watt);
}

// Prints the rates of the GEMM kernel of this folder and of cuBLASLt's.
void print_rates(const std::vector<Measured>& cases) {
  for (const Measured& one : cases) {
    const Case& c = one.op->what();
    if (c.mode != Mode::gemm || one.us.empty()) continue;
    for (const Measured& other : cases) {
      const Case& o = other.op->what();
      if (o.mode != Mode::gemm_cublas || o.m != c.m || o.n != c.n || o.k != c.k || other.us.empty()) continue;
      const double flops = 2.0 * c.m * c.n * c.k, mine = quantile(one.us, 0.5), theirs = quantile(other.us, 0.5);
      std::fprintf(stderr, "flux: gemm %6d x %6d x %6d: %5.0f TFLOP/s, cuBLASLt %5.0f: %3.0f %%\n", c.m, c.n, c.k,
                   flops / mine / 1e6, flops / theirs / 1e6, 100 * theirs / mine);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  // The GEMM library is large, so each of its kernels is loaded when it is first used. Every case runs once before a
  // gate holds the GPUs, because a kernel must not be loaded meanwhile.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  std::string command = "flux_measure";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  Collector c(argc, argv, "flux", 0);
  const std::vector<Case> cases = read_cases(c.option("--grid", ""), c.option("--modes", ""), c.gpus());
  const int rounds = std::atoi(c.option("--rounds", "17").c_str());
  const double limit = std::atof(c.option("--seconds", "200").c_str());
  const std::string traces = c.option("--traces", "");
  const int gpus = c.gpus();

  NcclGroup::configure(false);
  std::unique_ptr<NcclCommunicators> comms;
  if (gpus > 1) comms = std::make_unique<NcclCommunicators>(gpus, 0);
  std::vector<ComputeShape> shapes;
  for (const Case& one : cases) {
    ComputeShape shape;
    shape.m = one.m;
    shape.n = one.n;
    shape.k = one.k;
    shapes.push_back(shape);
  }
  const Operands operands(gpus, shapes);
  const FusedMemory memory(gpus, cases);
  Stage stage(gpus, c.sms());
  std::vector<Measured> measured;
  int failed = 0;
  for (const Case& one : cases) {
    Measured m;
    m.op = make_operator(one, operands, memory, comms.get());
    if (works(stage, *m.op))
      measured.push_back(std::move(m));
    else
      ++failed;
  }
  std::fprintf(stderr, "flux: %zu cases give right results, %d do not\n", measured.size(), failed);
  if (c.option("--counts", "time") == "traffic") {
    write_traffic(c.file(), stage, measured, gpus, command);
    return failed == 0 ? 0 : 1;
  }
  write_header(c, command);

  // Every round runs all cases in another order, so that a drift of clocks or temperature affects all cases alike. The
  // first round does not count.
  std::mt19937 random(1);
  const double began = now_seconds();
  std::vector<size_t> order(measured.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round <= rounds; ++round) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const size_t i : order) measure(stage, measured[i], round > 0, round == 1);
    if (now_seconds() - began > limit && round < rounds && round > 0) {
      std::fprintf(stderr, "flux: %d of %d rounds: --seconds %g are over\n", round, rounds, limit);
      break;
    }
  }
  for (const Measured& one : measured) write_row(c.file(), one, gpus);
  std::fflush(c.file());
  print_rates(measured);
  for (Measured& one : measured)
    if (!traces.empty() && one.op->what().traced) trace(stage, *one.op, traces, command);
  return failed == 0 ? 0 : 1;
}
