#include <algorithm>
#include <random>

#include "bench.hpp"
#include "cuda_check.hpp"
#include "kernels.cuh"

namespace {

constexpr int64_t kFlushBytes = int64_t{256} << 20;  // the L2 of an H200 has 50-60 MB
constexpr int kSamples = 131'072;                    // checked elements a rank and run, or all of a small output
constexpr int kMaxCheck = 1 << 20;
constexpr int kCopyWgsPerSm = 4;
constexpr int kMaxGrid = 132 * 16;
constexpr int kMaxTasks = 1 << 16;
constexpr int kHostGate = 0, kStartBarrier = 16, kArrived = 32;

using FusedKernel = void (*)(FusedArguments);
using UnfusedKernel = void (*)(UnfusedArguments);

FusedKernel fused(int bags, bool record) {
  switch (bags) {
    case 1:
      return record ? fused_kernel<1, true> : fused_kernel<1, false>;
    case 2:
      return record ? fused_kernel<2, true> : fused_kernel<2, false>;
    case 4:
      return record ? fused_kernel<4, true> : fused_kernel<4, false>;
    default:
      return nullptr;
  }
}

UnfusedKernel unfused(int bags) {
  switch (bags) {
    case 1:
      return unfused_kernel<1>;
    case 2:
      return unfused_kernel<2>;
    case 4:
      return unfused_kernel<4>;
    default:
      return nullptr;
  }
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "shape not supported: %s\n", what);
  std::exit(2);
}

}  // namespace

Bench::Bench(int ranks, int64_t table_bytes, int64_t index_count, int64_t output_floats) : ranks_(ranks), rank_(ranks) {
  CUDA_CHECK(cudaHostAlloc(&host_flag_, 64, cudaHostAllocPortable | cudaHostAllocMapped));
  *host_flag_ = 0;
  for (int r = 0; r < ranks; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    for (int p = 0; p < ranks; ++p) {
      if (p == r) continue;
      int can = 0;
      CUDA_CHECK(cudaDeviceCanAccessPeer(&can, r, p));
      if (can == 0) {
        std::fprintf(stderr, "GPU %d cannot access GPU %d directly\n", r, p);
        std::exit(1);
      }
      const cudaError_t status = cudaDeviceEnablePeerAccess(p, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled)
        (void)cudaGetLastError();
      else
        CUDA_CHECK(status);
    }
    Rank& k = rank_[r];
    CUDA_CHECK(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, r));
    CUDA_CHECK(cudaStreamCreateWithFlags(&k.stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreate(&k.begin));
    CUDA_CHECK(cudaEventCreate(&k.end));
    CUDA_CHECK(cudaMalloc(&k.tables, table_bytes));
    CUDA_CHECK(cudaMalloc(&k.indices, index_count * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&k.output, output_floats * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&k.staging, output_floats * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&k.flush, kFlushBytes));
    CUDA_CHECK(cudaMalloc(&k.flags, sizeof(uint32_t) * kMaxRanks * kMaxGrid));
    CUDA_CHECK(cudaMalloc(&k.gates, 256));
    CUDA_CHECK(cudaMalloc(&k.tasks, sizeof(TaskRecord) * kMaxTasks));
    CUDA_CHECK(cudaMalloc(&k.waits, sizeof(WaitRecord) * kMaxRanks * kMaxGrid));
    CUDA_CHECK(cudaMalloc(&k.wgs, sizeof(WgRecord) * kMaxGrid));
    CUDA_CHECK(cudaMalloc(&k.gave_up, sizeof(int)));
    CUDA_CHECK(cudaMalloc(&k.poison, sizeof(unsigned long long)));
    CUDA_CHECK(cudaMalloc(&k.elements, sizeof(int64_t) * kMaxCheck));
    CUDA_CHECK(cudaMalloc(&k.picked, sizeof(float) * kMaxCheck));
    CUDA_CHECK(cudaMemset(k.flags, 0, sizeof(uint32_t) * kMaxRanks * kMaxGrid));
    CUDA_CHECK(cudaMemset(k.gates, 0, 256));
    CUDA_CHECK(cudaMemset(k.gave_up, 0, sizeof(int)));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

Bench::~Bench() {
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    cudaSetDevice(r);
    for (void* p : {static_cast<void*>(k.tables), static_cast<void*>(k.indices), static_cast<void*>(k.output),
                    static_cast<void*>(k.staging), static_cast<void*>(k.flush), static_cast<void*>(k.flags),
                    static_cast<void*>(k.gates), static_cast<void*>(k.tasks), static_cast<void*>(k.waits),
                    static_cast<void*>(k.wgs), static_cast<void*>(k.gave_up), static_cast<void*>(k.poison),
                    static_cast<void*>(k.elements), static_cast<void*>(k.picked)})
      cudaFree(p);
    cudaEventDestroy(k.begin);
    cudaEventDestroy(k.end);
    cudaStreamDestroy(k.stream);
  }
  cudaFreeHost(host_flag_);
}

Gate Bench::gate(int first_word) const {
  Gate g{};
  for (int p = 0; p < ranks_; ++p) g.ready[p] = rank_[p].gates + first_word;
  return g;
}

void Bench::set_shape(const Shape& shape) {
  shape_ = shape;
  require(shape.ranks == ranks_, "ranks");
  require(shape.dim % 4 == 0 && kThreads % shape.row_vectors() == 0,
          "a row must be 16-byte pieces that divide 256 threads");
  require(shape.global_batch % (shape.ranks * shape.bags_per_task) == 0, "bags_per_task must divide a rank's samples");
  require(shape.bags_per_task % shape.groups() == 0, "bags_per_task must be a multiple of the rows a WG holds");
  require(fused(shape.bags_per_group(), false) != nullptr, "bags per thread group must be 1, 2 or 4");
  require(shape.pooling % (kLoadsInFlight / shape.bags_per_group()) == 0, "pooling must be a multiple of the unroll");
  require(shape.pooling <= 256, "pooling up to 256 keeps fp32 sums exact");
  require(shape.tasks() <= kMaxTasks, "too many tasks");
  for (int r = 0; r < ranks_; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    fill_tables<<<sms_ * 8, 256, 0, rank_[r].stream>>>(shape_, r, rank_[r].tables);
    CUDA_CHECK(cudaGetLastError());
  }
  for (int r = 0; r < ranks_; ++r) CUDA_CHECK(cudaStreamSynchronize(rank_[r].stream));
}

KernelFacts Bench::facts(const RunOptions& options) const {
  const FusedKernel kernel = fused(shape_.bags_per_group(), options.mode == Mode::fused_traced);
  KernelFacts f;
  CUDA_CHECK(cudaSetDevice(0));
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&f.wgs_per_sm, kernel, kThreads, shared_bytes()));
  if (options.wgs_per_sm > 0) f.wgs_per_sm = std::min(f.wgs_per_sm, options.wgs_per_sm);
  f.registers = attributes.numRegs;
  f.lds_bytes = int(attributes.sharedSizeBytes) + shared_bytes();
  f.sms = sms_;
  return f;
}

int Bench::grid(const RunOptions& options) const {
  const KernelFacts f = facts(options);
  return std::min({f.wgs_per_sm * f.sms, kMaxGrid, shape_.tasks()});
}

// Fresh indices, poisoned outputs, an L2 without any of it: every run starts cold and cannot pass on old results.
void Bench::prepare(uint64_t seed, const RunOptions& options) {
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemsetAsync(k.output, 0xff, shape_.output_floats() * sizeof(float), k.stream));
    // The copy alone needs staged vectors: it reuses those of an unfused kernel of the same seed.
    if (options.mode != Mode::copy_kernel)
      CUDA_CHECK(cudaMemsetAsync(k.staging, 0xff, shape_.output_floats() * sizeof(float), k.stream));
    fill_indices<<<sms_ * 8, 256, 0, k.stream>>>(shape_, r, seed, k.indices);
    CUDA_CHECK(cudaGetLastError());
    if (options.mode == Mode::copy_kernel) launch_unfused(r);
    CUDA_CHECK(cudaMemsetAsync(k.gates + kArrived, 0, sizeof(uint32_t), k.stream));
    CUDA_CHECK(cudaMemsetAsync(k.waits, 0, sizeof(WaitRecord) * kMaxRanks * kMaxGrid, k.stream));
    CUDA_CHECK(cudaMemsetAsync(k.tasks, 0, sizeof(TaskRecord) * shape_.tasks(), k.stream));
    CUDA_CHECK(cudaMemsetAsync(k.flush, int(seed & 0x7f), kFlushBytes, k.stream));
  }
  for (int r = 0; r < ranks_; ++r) CUDA_CHECK(cudaStreamSynchronize(rank_[r].stream));
}

void Bench::launch_unfused(int r) {
  const UnfusedArguments a{shape_, rank_[r].tables, rank_[r].indices, rank_[r].staging};
  unfused(shape_.bags_per_group())<<<shape_.tasks(), kThreads, shared_bytes(), rank_[r].stream>>>(a);
  CUDA_CHECK(cudaGetLastError());
}

void Bench::launch_copy(int r) {
  CopyArguments a{shape_, r, rank_[r].staging, {}};
  for (int p = 0; p < ranks_; ++p) a.output[p] = rank_[p].output;
  copy_kernel<<<sms_ * kCopyWgsPerSm, kThreads, 0, rank_[r].stream>>>(a);
  CUDA_CHECK(cudaGetLastError());
}

void Bench::launch(int r, const RunOptions& options) {
  Rank& k = rank_[r];
  switch (options.mode) {
    case Mode::unfused_kernel:
      launch_unfused(r);
      return;
    case Mode::copy_kernel:
      launch_copy(r);
      return;
    case Mode::bulk_synchronous:
      launch_unfused(r);
      launch_copy(r);
      return;
    case Mode::fused:
    case Mode::fused_traced:
      break;
  }
  FusedArguments a{};
  a.shape = shape_;
  a.rank = r;
  a.order = options.order;
  a.start_barrier = options.mode == Mode::fused_traced;
  a.visible = options.visible;
  a.tables = k.tables;
  a.indices = k.indices;
  for (int p = 0; p < ranks_; ++p) {
    a.output[p] = rank_[p].output;
    a.flags[p] = rank_[p].flags;
  }
  a.epoch = epoch_;
  a.gate = gate(kStartBarrier);
  a.gate.arrived = k.gates + kArrived;
  a.tasks = k.tasks;
  a.waits = k.waits;
  a.wgs = k.wgs;
  a.gave_up = k.gave_up;
  fused(shape_.bags_per_group(),
        options.mode == Mode::fused_traced)<<<grid(options), kThreads, shared_bytes(), k.stream>>>(a);
  CUDA_CHECK(cudaGetLastError());
}

RunResult Bench::run(const RunOptions& options) {
  ++epoch_;
  ++seed_;
  prepare(seed_, options);
  (void)grid(options);  // queries the occupancy now: nothing may touch the host API's locks once a gate spins
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    CUDA_CHECK(cudaSetDevice(r));
    gate_kernel<<<1, 1, 0, k.stream>>>(host_flag_, gate(kHostGate), r, ranks_, epoch_, k.gave_up);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(k.begin, k.stream));
    launch(r, options);
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaEventRecord(k.end, k.stream));
  }
  *static_cast<volatile uint32_t*>(host_flag_) = epoch_;
  double slowest = 0, fastest = 1e300;
  for (int r = 0; r < ranks_; ++r) CUDA_CHECK(cudaStreamSynchronize(rank_[r].stream));
  for (int r = 0; r < ranks_; ++r) {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, rank_[r].begin, rank_[r].end));
    slowest = std::max(slowest, ms * 1e3);
    fastest = std::min(fastest, ms * 1e3);
    int failed = 0;
    CUDA_CHECK(cudaMemcpy(&failed, rank_[r].gave_up, sizeof failed, cudaMemcpyDeviceToHost));
    if (failed != 0) {
      std::fprintf(stderr, "rank %d: a flag did not arrive in time\n", r);
      std::exit(1);
    }
  }
  RunResult result{slowest, slowest - fastest, {}};
  // The unfused kernel alone leaves its results in staging: the copy run after it, outside the timing, carries them
  // out.
  if (options.mode == Mode::unfused_kernel) {
    for (int r = 0; r < ranks_; ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      launch_copy(r);
    }
    for (int r = 0; r < ranks_; ++r) CUDA_CHECK(cudaStreamSynchronize(rank_[r].stream));
  }
  result.check = check(seed_);
  return result;
}

CheckResult Bench::check(uint64_t seed) {
  CheckResult total;
  std::mt19937_64 random(seed);
  const int64_t floats = shape_.output_floats();
  const bool all = floats <= kMaxCheck;
  const int count = all ? int(floats) : kSamples;
  std::vector<int64_t> elements(count);
  std::vector<float> values(count);
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    for (int i = 0; i < count; ++i) elements[i] = all ? i : int64_t(random() % uint64_t(floats));
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemsetAsync(k.poison, 0, sizeof(unsigned long long), k.stream));
    count_poison<<<sms_ * 4, 256, 0, k.stream>>>(reinterpret_cast<const uint32_t*>(k.output), floats, k.poison);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(k.elements, elements.data(), sizeof(int64_t) * count, cudaMemcpyHostToDevice, k.stream));
    pick_elements<<<(count + 255) / 256, 256, 0, k.stream>>>(reinterpret_cast<const float*>(k.output), k.elements,
                                                             count, k.picked);
    CUDA_CHECK(cudaGetLastError());
    unsigned long long unwritten = 0;
    CUDA_CHECK(cudaMemcpyAsync(values.data(), k.picked, sizeof(float) * count, cudaMemcpyDeviceToHost, k.stream));
    CUDA_CHECK(cudaMemcpyAsync(&unwritten, k.poison, sizeof unwritten, cudaMemcpyDeviceToHost, k.stream));
    CUDA_CHECK(cudaStreamSynchronize(k.stream));
    const CheckResult one = check_outputs(shape_, r, seed, elements, values);
    total.checked += one.checked;
    total.wrong += one.wrong + int64_t(unwritten);
    total.worst_error = std::max(total.worst_error, one.worst_error);
  }
  if (total.wrong != 0) {
    std::fprintf(stderr, "%lld output elements are wrong or unwritten (worst error %g)\n",
                 static_cast<long long>(total.wrong), total.worst_error);
    std::exit(1);
  }
  return total;
}

std::vector<RankRecords> Bench::records(const RunOptions& options) const {
  std::vector<RankRecords> result(ranks_);
  const int wgs = grid(options);
  for (int r = 0; r < ranks_; ++r) {
    RankRecords& to = result[r];
    to.tasks.resize(shape_.tasks());
    to.waits.resize(size_t(ranks_) * wgs);
    to.wgs.resize(wgs);
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(
        cudaMemcpy(to.tasks.data(), rank_[r].tasks, sizeof(TaskRecord) * to.tasks.size(), cudaMemcpyDeviceToHost));
    CUDA_CHECK(
        cudaMemcpy(to.waits.data(), rank_[r].waits, sizeof(WaitRecord) * to.waits.size(), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(to.wgs.data(), rank_[r].wgs, sizeof(WgRecord) * to.wgs.size(), cudaMemcpyDeviceToHost));
  }
  return result;
}
