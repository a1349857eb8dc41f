// Lists the kernels that the works of the grid files (GEMMs, streams, collectives) launch: grid, cluster, threads,
// registers, shared memory, and the GEMM library's description of its choice. It measures no time. Without strategies,
// GEMMs may use all SMs. With --transposed 1, B is stored as [n][k].
#include <cstdio>
#include <cstdlib>
#include <set>

#include "cast.hpp"
#include "harness.hpp"
#include "kernel_facts.hpp"
#include "provenance.hpp"

namespace {

// Writes one row per kernel of a work. The last columns are the kernel's properties, and those that only GEMMs have
// (`algorithm`).
void write_kernels(std::FILE* file, const std::string& work, const std::vector<KernelFact>& facts,
                   const std::string& algorithm) {
  for (const KernelFact& f : facts)
    std::fprintf(file, "%s,%s,%d,%d,%d,%d,%d,%d,%d,%d,%s\n", work.c_str(), f.name.c_str(), f.grid[0], f.grid[1],
                 f.grid[2], f.cluster, f.threads, f.registers, f.shared_bytes, f.wgs_per_sm, algorithm.c_str());
  std::fflush(file);
}

std::string text_of(const GemmAlgorithm& a) {
  std::string text;
  for (const int value : {a.id, a.tile, a.stages, a.split_k, a.swizzle, a.cluster, a.custom})
    text += std::to_string(value) + ",";
  return text + std::to_string(a.waves);
}

}  // namespace

int main(int argc, char** argv) {
  // The GEMM library is large, so each of its kernels is loaded when it is first used.
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  std::string command = "c3_kernels";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  Collector c(argc, argv, "c3_kernels", 0);
  if (c.gpus() > 1) require_even_shares(c.gpus());
  NcclGroup::configure(c.option("--nccl-direct", "0") == "1");
  std::vector<Pair> pairs = read_pairs(c.option("--grid", ""));
  if (!c.option("--more", "").empty())
    for (const Pair& p : read_pairs(c.option("--more", ""))) pairs.push_back(p);
  std::vector<Strategy> strategies;
  if (!c.option("--strategies", "").empty()) strategies = read_strategies(c.option("--strategies", ""));

  std::FILE* file = c.file();
  std::fprintf(file, "# moire-c3-kernels 1\n");
  write_provenance(file, c.gpus(), command);
  std::fprintf(file, "# cublaslt: %s\n# nccl: %s, NVLS off\n", Gemm::version().c_str(), NcclGroup::version().c_str());
  std::fprintf(
      file,
      "# columns: of GPU 0, from captured graphs; cluster WGs; shared_bytes static and dynamic; wgs_per_sm by "
      "the occupancy calculation; algorithm to waves: the GEMM library's own numbers (its enumerations; -1 not "
      "known); the tile is in the kernel's name, its first number along n\n"
      "work,m,n,k,stream_bytes,compute_sms,collective,bytes_per_rank,gpus,max_ctas,kernel,grid_x,grid_y,grid_z,"
      "cluster,threads,registers,shared_bytes,wgs_per_sm,algorithm,tile_id,stages_id,split_k,swizzle,"
      "cluster_id,custom,waves\n");

  Cast cast(c.gpus(), c.sms(), distinct_shapes(pairs), most_bytes_per_rank(pairs));
  std::set<int> sms = {0}, ctas;
  for (const Strategy& s : strategies) {
    sms.insert(s.compute_sms);
    if (!s.copy_engine) ctas.insert(s.max_ctas);
  }
  for (ComputeShape s : distinct_shapes(pairs)) {
    s.b_by_column = c.option("--transposed", "0") == "1";
    for (const int compute_sms : sms) {
      Work& work = cast.compute(s, compute_sms);
      const auto* gemm = dynamic_cast<const Gemm*>(&work);
      const std::string algorithm = gemm != nullptr ? text_of(gemm->algorithm()) : ",,,,,,,";
      const std::string name = s.name + "," + std::to_string(s.m) + "," + std::to_string(s.n) + "," +
                               std::to_string(s.k) + "," + std::to_string(s.stream_bytes) + "," +
                               std::to_string(compute_sms) + ",none,0,0,0";
      write_kernels(file, name, kernels_of(work, 1), algorithm);
    }
  }
  if (c.gpus() == 1) return 0;
  // Collectives are captured last, because capturing them is more likely to fail.
  for (const Kind kind : kKinds) {
    for (const int max_ctas : ctas) {
      for (int64_t bytes = int64_t{1} << 16; bytes <= most_bytes_per_rank(pairs); bytes *= 4) {
        const std::string name = name_of(kind) + ",0,0,0,0,0," + name_of(kind) + "," + std::to_string(bytes) + "," +
                                 std::to_string(c.gpus()) + "," + std::to_string(max_ctas);
        write_kernels(file, name, kernels_of(cast.nccl(kind, bytes, max_ctas), c.gpus()), ",,,,,,,");
      }
    }
  }
  return 0;
}
