#include <cublasLt.h>
#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "access.cuh"
#include "cuda_check.hpp"
#include "gemm.hpp"

#define CUBLAS_CHECK(call)                                                      \
  do {                                                                          \
    const cublasStatus_t cublas_check_status = (call);                          \
    if (cublas_check_status != CUBLAS_STATUS_SUCCESS) {                         \
      std::fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, \
                   static_cast<int>(cublas_check_status));                      \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;
constexpr int kChecked = 64;

__global__ void fill_normal(__nv_bfloat16* out, int64_t count, uint32_t seed) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const uint32_t h = hash32(uint32_t(i) ^ uint32_t(i >> 32) * 0x9e3779b1U ^ seed);
    const float u = (float(h >> 8) + 0.5f) / 16777216.0f;
    const float v = float(hash32(h ^ 0x85ebca6bU) >> 8) / 16777216.0f;
    out[i] = __float2bfloat16(sqrtf(-2 * logf(u)) * cosf(6.2831853f * v));
  }
}

// One WG computes an element of C. It writes this value and the stored one to `sampled`, where the host compares them.
__global__ void sample_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c, int m, int n,
                              int k, bool b_by_column, float2* sampled) {
  __shared__ float sums[256];
  const int row = int(hash32(blockIdx.x * 2) % uint32_t(m)), column = int(hash32(blockIdx.x * 2 + 1) % uint32_t(n));
  float sum = 0;
  for (int i = int(threadIdx.x); i < k; i += 256)
    sum += __bfloat162float(a[int64_t{row} * k + i]) *
           __bfloat162float(b_by_column ? b[int64_t{column} * k + i] : b[int64_t{i} * n + column]);
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < 256; ++t) sum += sums[t];
  sampled[blockIdx.x] = make_float2(sum, __bfloat162float(c[int64_t{row} * n + column]));
}

// cuBLASLt reads matrices column by column, but A, B and C are stored row by row, so the library sees their transposes.
// It therefore computes C^T = B^T A^T, with B as its first matrix and A as its second.
class LtGemm : public Gemm {
 public:
  LtGemm(const Operands& operands, const ComputeShape& shape, int sms) : operands_(operands), shape_(shape) {
    const uint64_t m = uint64_t(shape.m), n = uint64_t(shape.n), k = uint64_t(shape.k);
    CUBLAS_CHECK(cublasLtMatmulDescCreate(&matmul_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    if (sms > 0) {
      const int32_t target = sms;
      CUBLAS_CHECK(
          cublasLtMatmulDescSetAttribute(matmul_, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &target, sizeof target));
    }
    const cudaDataType_t type = shape.fp16 ? CUDA_R_16F : CUDA_R_16BF;
    if (shape.b_by_column) {
      const cublasOperation_t transposed = CUBLAS_OP_T;
      CUBLAS_CHECK(
          cublasLtMatmulDescSetAttribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
      CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&left_, type, k, n, int64_t(k)));
    } else {
      CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&left_, type, n, k, int64_t(n)));
    }
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&right_, type, k, m, int64_t(k)));
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&result_, type, n, m, int64_t(n)));
    cublasLtMatmulPreference_t preference = nullptr;
    CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &kWorkspaceBytes, sizeof kWorkspaceBytes));
    for (int r = 0; r < operands.gpus(); ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      int found = 0;
      cublasLtMatmulHeuristicResult_t choice{};
      CUBLAS_CHECK(cublasLtMatmulAlgoGetHeuristic(handle(r), matmul_, left_, right_, result_, result_, preference, 1,
                                                  &choice, &found));
      if (found == 0) {
        std::fprintf(stderr, "gemm: the library has no kernel for %s\n", shape.name.c_str());
        std::exit(1);
      }
      choices_.push_back(choice);
    }
    CUBLAS_CHECK(cublasLtMatmulPreferenceDestroy(preference));
  }
  ~LtGemm() override {
    cublasLtMatrixLayoutDestroy(left_);
    cublasLtMatrixLayoutDestroy(right_);
    cublasLtMatrixLayoutDestroy(result_);
    cublasLtMatmulDescDestroy(matmul_);
  }
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    const float one = 1, zero = 0;
    for (size_t r = 0; r < streams.size(); ++r) {
      const int gpu = int(r);
      CUDA_CHECK(cudaSetDevice(gpu));
      CUBLAS_CHECK(cublasLtMatmul(handle(gpu), matmul_, &one, operands_.b(gpu), left_, operands_.a(gpu), right_, &zero,
                                  operands_.c(gpu), result_, operands_.c(gpu), result_, &choices_[r].algo,
                                  operands_.workspace(gpu), kWorkspaceBytes, streams[r]));
    }
  }

  GemmAlgorithm algorithm() const override {
    GemmAlgorithm a;
    const auto ask = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, int& value, size_t bytes) {
      uint32_t word = 0;
      size_t written = 0;
      if (cublasLtMatmulAlgoConfigGetAttribute(&choices_[0].algo, attribute, &word, bytes, &written) ==
          CUBLAS_STATUS_SUCCESS)
        value = int(word);
    };
    ask(CUBLASLT_ALGO_CONFIG_ID, a.id, 4);
    ask(CUBLASLT_ALGO_CONFIG_TILE_ID, a.tile, 4);
    ask(CUBLASLT_ALGO_CONFIG_STAGES_ID, a.stages, 4);
    ask(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, a.split_k, 4);
    ask(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, a.swizzle, 4);
    ask(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, a.custom, 4);
    ask(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, a.cluster, 2);
    a.waves = double(choices_[0].wavesCount);
    return a;
  }

  void check() override {
    for (int r = 0; r < operands_.gpus(); ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaMemset(operands_.c(r), 0xff, size_t(shape_.m) * size_t(shape_.n) * 2));  // NaN
      CUDA_CHECK(cudaDeviceSynchronize());
    }
    enqueue(std::vector<cudaStream_t>(size_t(operands_.gpus()), nullptr));
    for (int r = 0; r < operands_.gpus(); ++r) {
      float2* sampled = nullptr;
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaDeviceSynchronize());
      CUDA_CHECK(cudaMalloc(&sampled, sizeof(float2) * kChecked));
      sample_kernel<<<kChecked, 256>>>(
          static_cast<const __nv_bfloat16*>(operands_.a(r)), static_cast<const __nv_bfloat16*>(operands_.b(r)),
          static_cast<const __nv_bfloat16*>(operands_.c(r)), shape_.m, shape_.n, shape_.k, shape_.b_by_column, sampled);
      CUDA_CHECK(cudaGetLastError());
      float2 host[kChecked];
      CUDA_CHECK(cudaMemcpy(host, sampled, sizeof host, cudaMemcpyDeviceToHost));
      CUDA_CHECK(cudaFree(sampled));
      for (const float2& one : host) {
        // The magnitude of an element is about sqrt(k). If the library splits k, it may also round the partial sums to
        // bf16.
        const double allowed = std::fabs(double(one.x)) / 128 + 0.03 * std::sqrt(double(shape_.k));
        if (std::fabs(double(one.y) - double(one.x)) <= allowed) continue;
        std::fprintf(stderr, "gemm %s: an element of C is %g; %g would be right\n", shape_.name.c_str(), double(one.y),
                     double(one.x));
        std::exit(1);
      }
    }
  }

 private:
  cublasLtHandle_t handle(int gpu) const { return static_cast<cublasLtHandle_t>(operands_.handle(gpu)); }

  const Operands& operands_;
  ComputeShape shape_;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, result_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> choices_;
};

}  // namespace

Operands::Operands(int gpus, const std::vector<ComputeShape>& shapes) {
  int64_t a = 1 << 20, b = 1 << 20, c = 1 << 20;  // bytes
  for (const ComputeShape& s : shapes) {
    a = std::max({a, int64_t{2} * s.m * s.k, s.stream_bytes});
    b = std::max({b, int64_t{2} * s.k * s.n, s.stream_bytes});
    c = std::max({c, int64_t{2} * s.m * s.n, s.stream_bytes});
  }
  for (int r = 0; r < gpus; ++r) {
    void *pa = nullptr, *pb = nullptr, *pc = nullptr, *workspace = nullptr;
    cublasLtHandle_t handle = nullptr;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMalloc(&pa, size_t(a)));
    CUDA_CHECK(cudaMalloc(&pb, size_t(b)));
    CUDA_CHECK(cudaMalloc(&pc, size_t(c)));
    fill_normal<<<1024, 256>>>(static_cast<__nv_bfloat16*>(pa), a / 2, 0x1234567U + uint32_t(r));
    fill_normal<<<1024, 256>>>(static_cast<__nv_bfloat16*>(pb), b / 2, 0x89abcdeU + uint32_t(r));
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemset(pc, 0, size_t(c)));
    a_.push_back(pa);
    b_.push_back(pb);
    CUBLAS_CHECK(cublasLtCreate(&handle));
    CUDA_CHECK(cudaMalloc(&workspace, kWorkspaceBytes));
    c_.push_back(pc);
    handle_.push_back(handle);
    workspace_.push_back(workspace);
  }
  for (int r = 0; r < gpus; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

Operands::~Operands() {
  for (int r = 0; r < gpus(); ++r) {
    cudaSetDevice(r);
    cudaFree(a_[r]);
    cudaFree(b_[r]);
    cudaFree(c_[r]);
    cudaFree(workspace_[r]);
    cublasLtDestroy(static_cast<cublasLtHandle_t>(handle_[r]));
  }
}

std::unique_ptr<Gemm> Gemm::create(const Operands& operands, const ComputeShape& shape, int sms) {
  return std::make_unique<LtGemm>(operands, shape, sms);
}

std::string Gemm::version() {
  const size_t v = cublasLtGetVersion();
  return std::to_string(v / 10000) + "." + std::to_string(v % 10000 / 100) + "." + std::to_string(v % 100);
}
