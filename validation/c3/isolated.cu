// Measures each computation and each collective of the pairs alone (gemm, stream, KIND_nccl, KIND_copy), and
// computations beside workgroups that occupy SMs (gemm_beside, stream_beside). Writes rows of the measurements file.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "blockers.hpp"
#include "cast.hpp"
#include "cuda_check.hpp"
#include "harness.hpp"
#include "stream.hpp"

namespace {

constexpr int kRounds = 15;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kCheckedBytes = 256 * kMib;  // the largest size whose results are checked
constexpr int64_t kMostBytes = 1024 * kMib;

struct Compute {
  std::string benchmark;
  Parameters parameters;
  Work* work;
};

Parameters parameters_of(const ComputeShape& s) { return Parameters()("m", s.m)("n", s.n)("k", s.k); }

Parameters parameters_of(const StreamShape& s) {
  return Parameters()("inputs", s.inputs)("bytes", s.bytes)("grid_stride", s.grid_stride ? 1 : 0);
}

// Times every computation alone. Every round measures all of them, so that a drift of the clock affects all alike.
void time_alone(Collector& c, Stage& stage, const std::vector<Compute>& computes) {
  std::vector<std::vector<double>> us(computes.size());
  for (int round = 0; round < kWarmups + kRounds; ++round)
    for (size_t i = 0; i < computes.size(); ++i) {
      const Ends ends = stage.run(computes[i].work, nullptr, First::compute, false);
      if (round >= kWarmups) us[i].push_back(ends.compute_us);
    }
  for (size_t i = 0; i < computes.size(); ++i)
    c.row(computes[i].benchmark.c_str(), computes[i].parameters, "time", us[i], "us");
}

void time_beside(Collector& c, Stage& stage, const std::vector<Compute>& computes) {
  Blockers blockers;
  for (const int traffic : {0, 1}) {
    for (const int count : {0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64}) {
      if (traffic == 1 && count == 0) continue;
      std::vector<std::vector<double>> us(computes.size());
      for (int round = 0; round < kWarmups + kRounds; ++round)
        for (size_t i = 0; i < computes.size(); ++i) {
          blockers.start(count, traffic == 1);
          const Ends ends = stage.run(computes[i].work, nullptr, First::compute, false);
          blockers.stop();
          if (round >= kWarmups) us[i].push_back(ends.compute_us);
        }
      for (size_t i = 0; i < computes.size(); ++i) {
        Parameters p = computes[i].parameters;
        p("blockers", count)("traffic", traffic);
        c.row((computes[i].benchmark + "_beside").c_str(), p, "time", us[i], "us");
      }
    }
  }
}

// Measures computations on GPU 0, alone and, for all GEMMs and the longest streams, beside blockers (workgroups that
// occupy SMs).
void bench_computes(Collector& c, const std::vector<ComputeShape>& shapes) {
  std::vector<ComputeShape> sized = shapes;
  ComputeShape largest;  // the longest of the following streams
  largest.name = "largest";
  largest.stream_bytes = 1024 * kMib;
  sized.push_back(largest);
  const Operands operands(1, sized);
  Stage stage(1, c.sms());
  std::vector<std::unique_ptr<Work>> works;
  std::vector<Compute> computes, met;
  for (const ComputeShape& s : shapes) {
    if (s.is_stream()) continue;
    std::unique_ptr<Gemm> gemm = Gemm::create(operands, s, 0);
    gemm->check();
    works.push_back(std::move(gemm));
    computes.push_back({"gemm", parameters_of(s), works.back().get()});
    met.push_back(computes.back());
  }
  for (const int inputs : {1, 2}) {
    for (const bool grid_stride : {true, false}) {
      for (const int64_t bytes : {kMib, 4 * kMib, 16 * kMib, 64 * kMib, 256 * kMib, 1024 * kMib}) {
        StreamShape s;
        s.inputs = inputs;
        s.bytes = bytes;
        s.grid_stride = grid_stride;
        s.sms = c.sms();
        works.push_back(make_stream(operands, s));
        computes.push_back({"stream", parameters_of(s), works.back().get()});
        if (bytes == 256 * kMib) met.push_back(computes.back());
      }
    }
  }
  for (const Compute& compute : computes) stage.warm(*compute.work);
  if (c.wants("gemm") || c.wants("stream")) time_alone(c, stage, computes);
  if (c.wants("gemm_beside") || c.wants("stream_beside")) time_beside(c, stage, met);
}

void time_collective(Collector& c, Stage& stage, Collective& collective, const std::string& benchmark,
                     const Parameters& p) {
  const bool checks = collective.shape().bytes_per_rank == kMib || collective.shape().bytes_per_rank == kCheckedBytes;
  if (checks) collective.poison();
  stage.warm(collective);
  if (checks) collective.verify(benchmark);
  c.row(benchmark.c_str(), p, "time",
        repeat([&](int) { return stage.run(nullptr, &collective, First::comm, false).comm_us; }, kRounds), "us");
}

void bench_collectives(Collector& c, int gpus) {
  const CollectiveMemory memory(gpus, kMostBytes);
  Stage stage(gpus, c.sms());
  const CopyLanes lanes(gpus);
  for (const int max_ctas : {0, 4, 8, 16}) {
    std::unique_ptr<NcclGroup> group;
    for (const Kind kind : kKinds) {
      const std::string benchmark = name_of(kind) + "_nccl";
      if (!c.wants(benchmark.c_str())) continue;
      if (group == nullptr) group = NcclGroup::create(gpus, max_ctas);
      // NCCL's own choice, which users have, at twice as many sizes and up to larger ones.
      const bool usual = max_ctas == 0;
      for (int64_t bytes = kMib / 16; bytes <= (usual ? kMostBytes : kCheckedBytes); bytes *= usual ? 2 : 4)
        time_collective(c, stage, *group->collective(memory, kind, bytes), benchmark,
                        Parameters()("bytes_per_rank", bytes)("gpus", gpus)("max_ctas", max_ctas));
    }
  }
  for (const Kind kind : {Kind::all_gather, Kind::all_to_all}) {
    const std::string benchmark = name_of(kind) + "_copy";
    if (!c.wants(benchmark.c_str())) continue;
    for (const int streams : {1, gpus - 1}) {
      for (int64_t bytes = kMib / 16; bytes <= kCheckedBytes; bytes *= 4)
        time_collective(c, stage, *make_copies(memory, lanes, {kind, bytes, gpus}, streams == 1 ? 1 : 0), benchmark,
                        Parameters()("bytes_per_rank", bytes)("gpus", gpus)("streams", streams));
      if (gpus == 2) break;  // with one peer, one stream and one stream per peer are the same
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  // The GEMM library is large, so each of its kernels is loaded when it is first used.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  Collector c(argc, argv, "c3_isolated", 0);
  if (c.gpus() > 1) require_even_shares(c.gpus());  // on one GPU, only the benchmarks of one GPU run
  NcclGroup::configure(c.option("--nccl-direct", "0") == "1");
  std::vector<Pair> pairs = read_pairs(c.option("--grid", ""));
  if (!c.option("--more", "").empty())
    for (const Pair& p : read_pairs(c.option("--more", ""))) pairs.push_back(p);
  bench_computes(c, distinct_shapes(pairs));
  for (int gpus = 2; gpus <= c.gpus(); gpus += std::max(1, c.gpus() - 2)) bench_collectives(c, gpus);
  return 0;
}
