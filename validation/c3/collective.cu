#include <cuda_bf16.h>

#include <cstdio>
#include <cstdlib>

#include "access.cuh"
#include "collective.hpp"
#include "cuda_check.hpp"

namespace {

// Returns input element `i` of `rank`: an integer from -16 to 15, so that a sum over 8 ranks is exact in bf16.
__device__ inline int value_at(int rank, int64_t i) {
  return int(hash32(uint32_t(i) * 8 + uint32_t(rank) + uint32_t(i >> 29) * 0x9e3779b1U) & 31) - 16;
}

__global__ void fill_input(__nv_bfloat16* input, int64_t count, int rank) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x)
    input[i] = __float2bfloat16(float(value_at(rank, i)));
}

// Adds to *wrong the number of output elements of `rank` that differ from the expected value. `count` is the number of
// elements of a rank's input. If `own_share` is false, the rank's share for itself is not checked.
__global__ void count_wrong(const __nv_bfloat16* output, int64_t elements, Kind kind, int rank, int ranks,
                            int64_t count, bool own_share, unsigned long long* wrong) {
  const int64_t share = count / ranks;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += int64_t{gridDim.x} * blockDim.x) {
    int want = 0;
    if (kind == Kind::all_gather) {
      if (!own_share && i / count == rank) continue;
      want = value_at(int(i / count), i % count);
    } else if (kind == Kind::all_to_all) {
      if (!own_share && i / share == rank) continue;
      want = value_at(int(i / share), rank * share + i % share);
    } else {
      const int64_t from = kind == Kind::all_reduce ? i : rank * share + i;
      for (int p = 0; p < ranks; ++p) want += value_at(p, from);
    }
    if (__bfloat162float(output[i]) != float(want)) atomicAdd(wrong, 1ULL);
  }
}

}  // namespace

CollectiveMemory::CollectiveMemory(int gpus, int64_t most_bytes_per_rank) {
  for (int r = 0; r < gpus; ++r) {
    void *in = nullptr, *out = nullptr;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMalloc(&in, size_t(most_bytes_per_rank)));
    CUDA_CHECK(cudaMalloc(&out, size_t(most_bytes_per_rank) * size_t(gpus)));
    fill_input<<<1024, 256>>>(static_cast<__nv_bfloat16*>(in), most_bytes_per_rank / 2, r);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    input_.push_back(static_cast<char*>(in));
    output_.push_back(static_cast<char*>(out));
  }
}

CollectiveMemory::~CollectiveMemory() {
  for (int r = 0; r < gpus(); ++r) {
    cudaSetDevice(r);
    cudaFree(input_[r]);
    cudaFree(output_[r]);
  }
}

int64_t Collective::output_elements() const {
  const int64_t count = shape_.bytes_per_rank / 2;
  if (shape_.kind == Kind::all_gather) return count * shape_.gpus;
  return shape_.kind == Kind::reduce_scatter ? count / shape_.gpus : count;
}

void Collective::poison() {
  for (int r = 0; r < shape_.gpus; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemset(memory_.output(r), 0xff, size_t(output_elements()) * 2));  // NaN
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

void Collective::verify(const std::string& engine) {
  for (int r = 0; r < shape_.gpus; ++r) {
    unsigned long long *wrong = nullptr, host = 0;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMalloc(&wrong, sizeof *wrong));
    CUDA_CHECK(cudaMemset(wrong, 0, sizeof *wrong));
    count_wrong<<<1024, 256>>>(reinterpret_cast<const __nv_bfloat16*>(memory_.output(r)), output_elements(),
                               shape_.kind, r, shape_.gpus, shape_.bytes_per_rank / 2, moves_own_share(), wrong);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(&host, wrong, sizeof host, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(wrong));
    if (host == 0) continue;
    std::fprintf(stderr, "%s by %s, %lld bytes a rank: %llu of %lld elements of rank %d are wrong\n",
                 name_of(shape_.kind).c_str(), engine.c_str(), static_cast<long long>(shape_.bytes_per_rank), host,
                 static_cast<long long>(output_elements()), r);
    std::exit(1);
  }
}
