// Runs every GEMM of a grid file once with cold caches, so that a profiler can count what the memory and the L2 deliver
// (count_traffic.py). For every GEMM it prints a line with its shape and the number of kernels. It measures no time.
#include <cuda_profiler_api.h>

#include <cstdio>
#include <cstdlib>

#include "cast.hpp"
#include "cuda_check.hpp"
#include "evict_l2.hpp"
#include "harness.hpp"
#include "kernel_facts.hpp"

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  Collector c(argc, argv, "c3_traffic", 0);
  const std::vector<ComputeShape> shapes = distinct_shapes(read_pairs(c.option("--grid", "")));
  const Operands operands(1, shapes);
  uint4* zeros = nullptr;
  CUDA_CHECK(cudaMalloc(&zeros, kFlushBytes));
  CUDA_CHECK(cudaMemset(zeros, 0, kFlushBytes));
  for (const ComputeShape& s : shapes) {
    if (s.m == 0) continue;  // a stream
    const std::unique_ptr<Gemm> gemm = Gemm::create(operands, s, 0);
    gemm->check();
    const size_t kernels = kernels_of(*gemm, 1).size();
    launch_evict_l2(c.stream(0), zeros, c.sms());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaProfilerStart());
    gemm->enqueue({c.stream(0)});
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaProfilerStop());
    std::printf("gemm %d %d %d %zu\n", s.m, s.n, s.k, kernels);
    std::fflush(stdout);
  }
  CUDA_CHECK(cudaFree(zeros));
  return 0;
}
