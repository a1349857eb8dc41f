#include <algorithm>
#include <cmath>

#include "access.cuh"
#include "cuda_check.hpp"
#include "fused.hpp"
#include "kernels.hpp"
#include "library.hpp"
#include "operators.hpp"

namespace {

constexpr int kChecked = 8192;
constexpr int kWords = 1 << 16;  // counters and flags of a GPU

struct Terms {
  const __nv_bfloat16* a[kMaxRanks];
  const __nv_bfloat16* b[kMaxRanks];
  int count;       // number of products that are summed
  int block_rows;  // if count is 1: rows of A that one GPU owns; row r of A is in a[r / block_rows]
  int first_row;   // row of the whole C at which this GPU's output begins
};

// One WG computes the expected value of an element. It writes this value and the stored one to `sampled`, where the
// host compares them.
__global__ void sample_kernel(Terms terms, const __nv_bfloat16* out, int rows, int n, int k, uint32_t seed,
                              float2* sampled) {
  __shared__ float sums[256];
  const int row = int(hash32(blockIdx.x * 2 + seed) % uint32_t(rows));
  const int column = int(hash32(blockIdx.x * 2 + 1 + seed) % uint32_t(n));
  float sum = 0;
  for (int t = 0; t < terms.count; ++t) {
    const int source = terms.count > 1 ? t : (terms.first_row + row) / terms.block_rows;
    const __nv_bfloat16* a = terms.a[source] + int64_t(terms.first_row + row) * k;
    const __nv_bfloat16* b = terms.b[t] + int64_t{column} * k;
    for (int i = int(threadIdx.x); i < k; i += 256) sum += __bfloat162float(a[i]) * __bfloat162float(b[i]);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < 256; ++t) sum += sums[t];
  sampled[blockIdx.x] = make_float2(sum, __bfloat162float(out[int64_t{row} * n + column]));
}

__global__ void count_poison(const uint16_t* words, int64_t count, int* left) {
  int mine = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x)
    mine += (words[i] & 0x7fffU) > 0x7f80U ? 1 : 0;
  if (mine > 0) atomicAdd(left, mine);
}

}  // namespace

FusedMemory::FusedMemory(int gpus, const std::vector<Case>& cases) {
  int64_t most = 1 << 20;
  for (const Case& c : cases) most = std::max(most, int64_t{2} * c.m * c.n);
  for (int r = 0; r < gpus; ++r) {
    Gpu g;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaDeviceGetAttribute(&g.sms, cudaDevAttrMultiProcessorCount, r));
    if (gpus > 1) {
      CUDA_CHECK(cudaMalloc(&g.parts, size_t(most)));
      CUDA_CHECK(cudaMalloc(&g.out, size_t(most / gpus)));
    }
    CUDA_CHECK(cudaMalloc(&g.counters, sizeof(uint32_t) * kWords));
    CUDA_CHECK(cudaMalloc(&g.flags, sizeof(uint32_t) * kWords));
    CUDA_CHECK(cudaMemset(g.flags, 0, sizeof(uint32_t) * kWords));
    CUDA_CHECK(cudaMalloc(&g.gave_up, sizeof(int)));
    CUDA_CHECK(cudaMemset(g.gave_up, 0, sizeof(int)));
    CUDA_CHECK(cudaMalloc(&g.clock, 2 * sizeof(uint64_t)));
    CUDA_CHECK(cudaMemset(g.clock, 0, 2 * sizeof(uint64_t)));
    CUDA_CHECK(cudaStreamCreateWithFlags(&g.copies, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreateWithFlags(&g.begin, cudaEventDisableTiming));
    CUDA_CHECK(cudaEventCreateWithFlags(&g.end, cudaEventDisableTiming));
    prepare_kernels();
    CUDA_CHECK(cudaDeviceSynchronize());
    gpu_.push_back(g);
  }
}

FusedMemory::~FusedMemory() {
  for (int r = 0; r < gpus(); ++r) {
    const Gpu& g = gpu_[size_t(r)];
    cudaSetDevice(r);
    for (void* p : {static_cast<void*>(g.parts), static_cast<void*>(g.out), static_cast<void*>(g.counters),
                    static_cast<void*>(g.flags), static_cast<void*>(g.gave_up), static_cast<void*>(g.clock)})
      cudaFree(p);
    cudaStreamDestroy(g.copies);
    cudaEventDestroy(g.begin);
    cudaEventDestroy(g.end);
  }
}

bool Operator::scatters() const {
  return case_.mode == Mode::rs_store || case_.mode == Mode::rs_store_late || case_.mode == Mode::rs_add ||
         case_.mode == Mode::rs_nccl;
}

bool Operator::gathers() const {
  return case_.mode == Mode::ag_copy || case_.mode == Mode::ag_push || case_.mode == Mode::ag_nccl;
}

void Operator::poison() {
  const size_t all = size_t(case_.m) * size_t(case_.n) * 2, share = all / size_t(gpus());
  for (int r = 0; r < gpus(); ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemset(c(r), 0xff, all));
    if (scatters()) {
      CUDA_CHECK(cudaMemset(memory_.of(r).parts, 0xff, all));
      CUDA_CHECK(cudaMemset(memory_.of(r).out, 0xff, share));
    }
    for (int p = 0; gathers() && p < gpus(); ++p) {
      const int64_t rows = int64_t{block_rows()} * case_.k;
      if (p != r) CUDA_CHECK(cudaMemset(a(r) + p * rows, 0xff, size_t(rows) * 2));
    }
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

bool Operator::right() {
  const bool alone = case_.mode == Mode::gemm || case_.mode == Mode::gemm_cublas;
  if (!scatters() && !gathers() && !alone) return true;
  for (int r = 0; r < gpus(); ++r) {
    Terms terms{};
    terms.count = scatters() ? gpus() : 1;
    terms.block_rows = gathers() ? block_rows() : case_.m;
    terms.first_row = scatters() ? r * block_rows() : 0;
    for (int p = 0; p < gpus(); ++p) {
      terms.a[p] = a(alone ? r : p);
      terms.b[p] = b(scatters() ? p : r);
    }
    const __nv_bfloat16* out = scatters() ? memory_.of(r).out : c(r);
    const int rows = scatters() ? block_rows() : case_.m;
    float2* sampled = nullptr;
    int* left = nullptr;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMalloc(&sampled, sizeof(float2) * kChecked));
    CUDA_CHECK(cudaMalloc(&left, sizeof(int)));
    CUDA_CHECK(cudaMemset(left, 0, sizeof(int)));
    sample_kernel<<<kChecked, 256>>>(terms, out, rows, case_.n, case_.k, 0x51ed27U * uint32_t(r + 1), sampled);
    count_poison<<<1024, 256>>>(reinterpret_cast<const uint16_t*>(out), int64_t{rows} * case_.n, left);
    CUDA_CHECK(cudaGetLastError());
    std::vector<float2> host(kChecked);
    int poisoned = 0;
    CUDA_CHECK(cudaMemcpy(host.data(), sampled, sizeof(float2) * kChecked, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(&poisoned, left, sizeof poisoned, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(sampled));
    CUDA_CHECK(cudaFree(left));
    int wrong = 0;
    float2 worst{};
    for (const float2& one : host) {
      // The magnitude of an element is about sqrt(k x terms), and every term is rounded to bf16 before it is added.
      const double allowed = std::fabs(double(one.x)) / 128 + 0.03 * std::sqrt(double(case_.k) * terms.count);
      if (std::fabs(double(one.y) - double(one.x)) <= allowed) continue;
      if (wrong++ == 0) worst = one;
    }
    if (wrong == 0 && poisoned == 0) continue;
    std::fprintf(
        stderr,
        "%s m=%d n=%d k=%d chunks=%d: GPU %d: %d of %d elements are wrong (one is %g; %g would be right), %d are "
        "no numbers\n",
        kModeNames[size_t(case_.mode)].c_str(), case_.m, case_.n, case_.k, case_.chunks, r, wrong, kChecked,
        double(worst.y), double(worst.x), poisoned);
    return false;
  }
  return true;
}

bool Operator::gave_up() {
  bool any = false;
  for (int r = 0; r < gpus(); ++r) {
    int one = 0;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemcpy(&one, memory_.of(r).gave_up, sizeof one, cudaMemcpyDeviceToHost));
    if (one == 0) continue;
    any = true;
    CUDA_CHECK(cudaMemset(memory_.of(r).gave_up, 0, sizeof(int)));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  return any;
}

double Operator::kernel_mhz() {
  double mhz = 0;
  for (int r = 0; r < gpus(); ++r) {
    uint64_t host[2] = {};
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemcpy(host, memory_.of(r).clock, sizeof host, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemset(memory_.of(r).clock, 0, sizeof host));
    CUDA_CHECK(cudaDeviceSynchronize());
    if (host[1] == 0) continue;
    const double one = double(host[0]) / double(host[1]) * 1e3;
    mhz = mhz == 0 ? one : std::min(mhz, one);
  }
  return mhz;
}

std::unique_ptr<Operator> make_operator(const Case& c, const Operands& operands, const FusedMemory& memory,
                                        const NcclCommunicators* comms) {
  switch (c.mode) {
    case Mode::gemm_cublas:
    case Mode::rs_nccl:
    case Mode::reduce_scatter:
    case Mode::ag_nccl:
    case Mode::all_gather:
      return make_library_operator(c, operands, memory, comms);
    default:
      return make_fused_operator(c, operands, memory);
  }
}
