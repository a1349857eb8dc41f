#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "bench.hpp"
#include "cuda_check.hpp"
#include "evict_l2.hpp"
#include "kernels.cuh"
#include "peer_access.hpp"

namespace {

constexpr int kMaxCheck = 1 << 17;
constexpr int kCopyWgsPerSm = 4;
constexpr int kMaxGrid = 132 * 16;
constexpr int kHostGate = 0, kStartBarrier = 16, kArrived = 32;

using FusedKernel = void (*)(FusedArguments);
using UnfusedKernel = void (*)(UnfusedArguments);

template <Dtype kDtype, int kBags>
FusedKernel fused_of(bool record) {
  return record ? fused_kernel<kDtype, kBags, true> : fused_kernel<kDtype, kBags, false>;
}

template <Dtype kDtype, int kBags>
UnfusedKernel unfused_of(bool record) {
  return record ? unfused_kernel<kDtype, kBags, true> : unfused_kernel<kDtype, kBags, false>;
}

// Returns the fused kernel for the shape's number of bags per group. Shape::problem() has refused all other numbers.
FusedKernel fused(const Shape& s, bool record) {
  const int bags = s.bags_per_group();
  if (s.dtype == Dtype::fp16) return bags == 1 ? fused_of<Dtype::fp16, 1>(record) : fused_of<Dtype::fp16, 2>(record);
  if (s.dtype == Dtype::bf16) return bags == 1 ? fused_of<Dtype::bf16, 1>(record) : fused_of<Dtype::bf16, 2>(record);
  return bags == 1   ? fused_of<Dtype::fp32, 1>(record)
         : bags == 2 ? fused_of<Dtype::fp32, 2>(record)
                     : fused_of<Dtype::fp32, 4>(record);
}

UnfusedKernel unfused(const Shape& s, bool record) {
  const int bags = s.bags_per_group();
  if (s.dtype == Dtype::fp16)
    return bags == 1 ? unfused_of<Dtype::fp16, 1>(record) : unfused_of<Dtype::fp16, 2>(record);
  if (s.dtype == Dtype::bf16)
    return bags == 1 ? unfused_of<Dtype::bf16, 1>(record) : unfused_of<Dtype::bf16, 2>(record);
  return bags == 1   ? unfused_of<Dtype::fp32, 1>(record)
         : bags == 2 ? unfused_of<Dtype::fp32, 2>(record)
                     : unfused_of<Dtype::fp32, 4>(record);
}

// Returns the layout of the output after a run of `mode`.
Layout output_layout(Mode mode) {
  return mode == Mode::fused || mode == Mode::bulk_sm_copy ? Layout::sample_major : Layout::table_major;
}

// Returns the least dynamic shared memory of a WG with which an SM does not hold more than `resident` WGs, so that most
// of the SM's memory is left to its L1; 0 if `resident` is 0.
int filler_bytes(int resident) {
  if (resident == 0) return 0;
  constexpr int kReserved = 1024;  // bytes of a WG that the driver takes
  int of_sm = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&of_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
  return of_sm / (resident + 1) - kReserved + 1;
}

bool only_exchanges(Mode mode) { return mode == Mode::alltoall_nccl || mode == Mode::alltoall_copy; }

template <typename Of>
int64_t largest(const std::vector<Shape>& shapes, Of of) {
  int64_t most = 0;
  for (const Shape& s : shapes) most = std::max(most, int64_t(of(s)));
  return most;
}

}  // namespace

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::unfused_kernel:
      return "unfused_kernel";
    case Mode::bulk_nccl:
      return "bulk_nccl";
    case Mode::bulk_copy:
      return "bulk_copy";
    case Mode::bulk_sm_copy:
      return "bulk_sm_copy";
    case Mode::alltoall_nccl:
      return "alltoall_nccl";
    case Mode::alltoall_copy:
      return "alltoall_copy";
    case Mode::fused:
      return "fused";
  }
  return "";
}

bool needs_nccl(Mode mode) { return mode == Mode::bulk_nccl || mode == Mode::alltoall_nccl; }

Bench::Bench(int ranks, const std::vector<Shape>& shapes, int resident)
    : ranks_(ranks), filler_bytes_(filler_bytes(resident)), rank_(ranks) {
  CUDA_CHECK(cudaHostAlloc(&host_flag_, 64, cudaHostAllocPortable | cudaHostAllocMapped));
  *host_flag_ = 0;
  for (int r = 0; r < ranks; ++r) {
    const OpenGpu gpu = open_gpu(r, ranks);
    sms_ = gpu.sms;
    rank_[r].stream = gpu.stream;
    allocate(r, shapes);
  }
  nccl_ = NcclExchange::create(ranks);
}

void Bench::allocate(int r, const std::vector<Shape>& shapes) {
  const int64_t output = largest(shapes, [](const Shape& s) { return s.output_bytes(); });
  const int64_t tasks = largest(shapes, [](const Shape& s) { return s.tasks(); });
  const int64_t rows = largest(shapes, [](const Shape& s) { return s.rows_per_table; });
  Rank& k = rank_[r];
  CUDA_CHECK(cudaEventCreate(&k.begin));
  CUDA_CHECK(cudaEventCreate(&k.end));
  CUDA_CHECK(cudaMalloc(&k.tables, largest(shapes, [](const Shape& s) { return s.table_bytes(); })));
  CUDA_CHECK(cudaMalloc(&k.indices, 4 * largest(shapes, [](const Shape& s) { return s.index_count(); })));
  CUDA_CHECK(cudaMalloc(&k.output, output));
  CUDA_CHECK(cudaMalloc(&k.staging, output));
  CUDA_CHECK(cudaMalloc(&k.cdf, sizeof(uint64_t) * rows));
  CUDA_CHECK(cudaMalloc(&k.guide, sizeof(uint32_t) * ((1 << kGuideBits) + 1)));
  CUDA_CHECK(cudaMalloc(&k.flush, kFlushBytes));
  CUDA_CHECK(cudaMemset(k.flush, 0, kFlushBytes));
  CUDA_CHECK(cudaMalloc(&k.flags, sizeof(uint32_t) * kMaxRanks * kMaxGrid));
  CUDA_CHECK(cudaMalloc(&k.gates, 256));
  CUDA_CHECK(cudaMalloc(&k.tasks, sizeof(TaskRecord) * tasks));
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

Bench::~Bench() {
  nccl_.reset();
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    cudaSetDevice(r);
    for (void* p : {static_cast<void*>(k.tables), static_cast<void*>(k.indices), static_cast<void*>(k.output),
                    static_cast<void*>(k.staging), static_cast<void*>(k.cdf), static_cast<void*>(k.guide),
                    static_cast<void*>(k.flush), static_cast<void*>(k.flags), static_cast<void*>(k.gates),
                    static_cast<void*>(k.tasks), static_cast<void*>(k.waits), static_cast<void*>(k.wgs),
                    static_cast<void*>(k.gave_up), static_cast<void*>(k.poison), static_cast<void*>(k.elements),
                    static_cast<void*>(k.picked)})
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

Popularity Bench::device_popularity(int r) const {
  if (shape_.zipf == 0) return {};
  return {rank_[r].cdf, rank_[r].guide};
}

void Bench::synchronise() {
  for (int r = 0; r < ranks_; ++r) CUDA_CHECK(cudaStreamSynchronize(rank_[r].stream));
}

void Bench::set_shape(const Shape& shape) {
  shape_ = shape;
  const bool skewed = shape.zipf != 0;
  if (skewed && (popularity_rows_ != shape.rows_per_table || popularity_exponent_ != shape.zipf)) {
    popularity_ = std::make_unique<PopularityTable>(shape.rows_per_table, shape.zipf);
    popularity_rows_ = shape.rows_per_table;
    popularity_exponent_ = shape.zipf;
    const auto& cdf = popularity_->cdf();
    const auto& guide = popularity_->guide();
    for (int r = 0; r < ranks_; ++r) {
      CUDA_CHECK(cudaSetDevice(r));
      CUDA_CHECK(cudaMemcpy(rank_[r].cdf, cdf.data(), sizeof(uint64_t) * cdf.size(), cudaMemcpyHostToDevice));
      CUDA_CHECK(cudaMemcpy(rank_[r].guide, guide.data(), sizeof(uint32_t) * guide.size(), cudaMemcpyHostToDevice));
    }
  }
  for (int r = 0; r < ranks_; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    // More than the 48 KiB that every kernel may have, if a filler asks for them.
    constexpr cudaFuncAttribute kMost = cudaFuncAttributeMaxDynamicSharedMemorySize;
    for (const bool record : {false, true}) {
      CUDA_CHECK(cudaFuncSetAttribute(fused(shape_, record), kMost, shared_bytes()));
      CUDA_CHECK(cudaFuncSetAttribute(unfused(shape_, record), kMost, shared_bytes()));
    }
    fill_tables<<<sms_ * 8, 256, 0, rank_[r].stream>>>(shape_, r, rank_[r].tables);
    CUDA_CHECK(cudaGetLastError());
  }
  synchronise();
  // NCCL connects and allocates for this size now. If it did this while a gate holds the GPUs, it could wait for the
  // gate forever.
  if (nccl_ != nullptr && !enqueue_nccl()) nccl_.reset();
  synchronise();
}

KernelFacts Bench::facts(const RunOptions& options) const {
  KernelFacts f;
  CUDA_CHECK(cudaSetDevice(0));
  cudaFuncAttributes attributes{};
  if (options.mode == Mode::fused) {
    const FusedKernel kernel = fused(shape_, options.record);
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&f.wgs_per_sm, kernel, kThreads, shared_bytes()));
    f.grid = std::min({f.wgs_per_sm * sms_, kMaxGrid, shape_.tasks()});
  } else {
    const UnfusedKernel kernel = unfused(shape_, options.record);
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&f.wgs_per_sm, kernel, kThreads, shared_bytes()));
    f.grid = shape_.tasks();
  }
  f.registers = attributes.numRegs;
  f.lds_bytes = int(attributes.sharedSizeBytes) + shared_bytes();
  f.sms = sms_;
  return f;
}

// Prepares a run: new indices, poisoned outputs, and an L2 that holds none of the run's data. So caches are cold, and
// results of an earlier run cannot pass the check.
void Bench::prepare(uint64_t seed, const RunOptions& options) {
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemsetAsync(k.output, 0xff, shape_.output_bytes(), k.stream));
    CUDA_CHECK(cudaMemsetAsync(k.staging, 0xff, shape_.output_bytes(), k.stream));
    fill_indices<<<sms_ * 8, 256, 0, k.stream>>>(shape_, device_popularity(r), r, seed, k.indices);
    CUDA_CHECK(cudaGetLastError());
    // A mode that measures the exchange alone needs pooled vectors in its staging buffer.
    if (only_exchanges(options.mode)) launch_unfused(r, Layout::table_major, false);
    CUDA_CHECK(cudaMemsetAsync(k.gates + kArrived, 0, sizeof(uint32_t), k.stream));
    if (options.record) {
      CUDA_CHECK(cudaMemsetAsync(k.waits, 0, sizeof(WaitRecord) * kMaxRanks * kMaxGrid, k.stream));
      CUDA_CHECK(cudaMemsetAsync(k.tasks, 0, sizeof(TaskRecord) * shape_.tasks(), k.stream));
    }
    launch_evict_l2(k.stream, k.flush, sms_);
  }
  synchronise();
}

void Bench::launch_unfused(int r, Layout layout, bool record) {
  const Rank& k = rank_[r];
  const UnfusedArguments a{shape_, layout, k.tables, k.indices, k.staging, k.tasks};
  CUDA_CHECK(cudaSetDevice(r));
  unfused(shape_, record)<<<shape_.tasks(), kThreads, shared_bytes(), k.stream>>>(a);
  CUDA_CHECK(cudaGetLastError());
}

void Bench::launch_sm_copy(int r) {
  CopyArguments a{shape_, r, rank_[r].staging, {}};
  for (int p = 0; p < ranks_; ++p) a.output[p] = rank_[p].output;
  CUDA_CHECK(cudaSetDevice(r));
  copy_kernel<<<sms_ * kCopyWgsPerSm, kThreads, 0, rank_[r].stream>>>(a);
  CUDA_CHECK(cudaGetLastError());
}

// Enqueues rank `r`'s copies to all ranks. Each rank starts with another peer, so that no two ranks send to one
// receiver; the copy of a rank's share for itself comes last.
void Bench::enqueue_copies(int r) {
  const size_t share = size_t(shape_.share_bytes());
  const char* staging = reinterpret_cast<const char*>(rank_[r].staging);
  CUDA_CHECK(cudaSetDevice(r));
  for (int turn = 1; turn <= ranks_; ++turn) {
    const int p = (r + turn) % ranks_;
    char* to = reinterpret_cast<char*>(rank_[p].output) + size_t(r) * share;
    const char* from = staging + size_t(p) * share;
    if (p == r)
      CUDA_CHECK(cudaMemcpyAsync(to, from, share, cudaMemcpyDeviceToDevice, rank_[r].stream));
    else
      CUDA_CHECK(cudaMemcpyPeerAsync(to, p, from, r, share, rank_[r].stream));
  }
}

bool Bench::enqueue_nccl() {
  std::vector<const void*> send;
  std::vector<void*> receive;
  std::vector<cudaStream_t> streams;
  for (const Rank& k : rank_) {
    send.push_back(k.staging);
    receive.push_back(k.output);
    streams.push_back(k.stream);
  }
  return nccl_->all_to_all(send, receive, size_t(shape_.share_bytes()), streams);
}

void Bench::launch_fused(int r, int grid, const RunOptions& options) {
  Rank& k = rank_[r];
  FusedArguments a{};
  a.shape = shape_;
  a.rank = r;
  a.order = options.order;
  a.start_barrier = options.start_barrier;
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
  fused(shape_, options.record)<<<grid, kThreads, shared_bytes(), k.stream>>>(a);
  CUDA_CHECK(cudaGetLastError());
}

bool Bench::gave_up() {
  bool any = false;
  for (int r = 0; r < ranks_; ++r) {
    int failed = 0;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemcpy(&failed, rank_[r].gave_up, sizeof failed, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemset(rank_[r].gave_up, 0, sizeof failed));
    CUDA_CHECK(cudaDeviceSynchronize());
    any |= failed != 0;
  }
  return any;
}

RunResult Bench::run(const RunOptions& options) {
  RunResult result;
  if (needs_nccl(options.mode) && nccl_ == nullptr) {
    result.done = false;
    return result;
  }
  ++epoch_;
  ++seed_;
  prepare(seed_, options);
  const int grid = facts(options).grid;  // queried now, because such queries could block while a gate spins
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    CUDA_CHECK(cudaSetDevice(r));
    if (options.gated) launch_gate(k.stream, host_flag_, gate(kHostGate), r, ranks_, epoch_, k.gave_up);
    CUDA_CHECK(cudaEventRecord(k.begin, k.stream));
    switch (options.mode) {
      case Mode::fused:
        launch_fused(r, grid, options);
        break;
      case Mode::unfused_kernel:
        launch_unfused(r, Layout::table_major, options.record);
        break;
      case Mode::bulk_sm_copy:
        launch_unfused(r, Layout::sample_major, false);
        launch_sm_copy(r);
        break;
      case Mode::bulk_nccl:
        launch_unfused(r, Layout::table_major, false);
        break;
      case Mode::bulk_copy:
        launch_unfused(r, Layout::table_major, false);
        enqueue_copies(r);
        break;
      case Mode::alltoall_copy:
        enqueue_copies(r);
        break;
      case Mode::alltoall_nccl:
        break;
    }
  }
  if (needs_nccl(options.mode)) result.done = enqueue_nccl();
  for (int r = 0; r < ranks_; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaEventRecord(rank_[r].end, rank_[r].stream));
  }
  *static_cast<volatile uint32_t*>(host_flag_) = epoch_;
  synchronise();
  if (gave_up()) {
    if (!needs_nccl(options.mode)) {
      std::fprintf(stderr, "%s: a wait for a flag or a gate timed out\n", name_of(options.mode));
      std::exit(1);
    }
    std::fprintf(stderr, "%s: NCCL could not be enqueued while the gates were closed\n", name_of(options.mode));
    result.done = false;
  }
  if (!result.done) {
    std::fprintf(stderr, "the columns of NCCL stay empty from here on\n");
    nccl_.reset();
    return result;
  }
  double slowest = 0, fastest = 1e300;
  for (const Rank& k : rank_) {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, k.begin, k.end));
    slowest = std::max(slowest, ms * 1e3);
    fastest = std::min(fastest, ms * 1e3);
  }
  result.us = slowest;
  result.skew_us = slowest - fastest;
  // The unfused kernel alone leaves its results in the staging buffer; copies after the measured time move them to the
  // output.
  if (options.mode == Mode::unfused_kernel) {
    for (int r = 0; r < ranks_; ++r) enqueue_copies(r);
    synchronise();
  }
  check(options);
  return result;
}

void Bench::check(const RunOptions& options) {
  CheckResult total;
  std::mt19937_64 random(seed_);
  const int count = std::min(options.checked_elements, kMaxCheck);
  std::vector<int64_t> elements(count);
  std::vector<float> values(count);
  const Popularity popularity = shape_.zipf == 0 ? Popularity{} : popularity_->view();
  for (int r = 0; r < ranks_; ++r) {
    Rank& k = rank_[r];
    for (int64_t& e : elements) e = int64_t(random() % uint64_t(shape_.output_elements()));
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMemsetAsync(k.poison, 0, sizeof(unsigned long long), k.stream));
    count_poison<<<sms_ * 4, 256, 0, k.stream>>>(reinterpret_cast<const uint32_t*>(k.output), shape_.output_bytes() / 4,
                                                 k.poison);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(k.elements, elements.data(), sizeof(int64_t) * count, cudaMemcpyHostToDevice, k.stream));
    pick_elements<<<(count + 255) / 256, 256, 0, k.stream>>>(k.output, shape_.dtype, k.elements, count, k.picked);
    CUDA_CHECK(cudaGetLastError());
    unsigned long long unwritten = 0;
    CUDA_CHECK(cudaMemcpyAsync(values.data(), k.picked, sizeof(float) * count, cudaMemcpyDeviceToHost, k.stream));
    CUDA_CHECK(cudaMemcpyAsync(&unwritten, k.poison, sizeof unwritten, cudaMemcpyDeviceToHost, k.stream));
    CUDA_CHECK(cudaStreamSynchronize(k.stream));
    const CheckResult one = check_outputs(shape_, popularity, output_layout(options.mode), r, seed_, elements, values);
    total.checked += one.checked;
    total.wrong += one.wrong + int64_t(unwritten);
    total.worst_error = std::max(total.worst_error, one.worst_error);
  }
  if (total.wrong != 0) {
    std::fprintf(stderr, "%s, %s: %lld output elements are wrong or unwritten (worst error %g)\n",
                 name_of(options.mode), shape_.text().c_str(), static_cast<long long>(total.wrong), total.worst_error);
    std::exit(1);
  }
}

std::vector<RankRecords> Bench::records(const RunOptions& options) const {
  std::vector<RankRecords> result(ranks_);
  const int wgs = facts(options).grid;
  const auto read = [](auto& to, const auto* from, size_t count) {
    to.resize(count);
    CUDA_CHECK(cudaMemcpy(to.data(), from, sizeof(*from) * count, cudaMemcpyDeviceToHost));
  };
  for (int r = 0; r < ranks_; ++r) {
    RankRecords& to = result[r];
    CUDA_CHECK(cudaSetDevice(r));
    read(to.tasks, rank_[r].tasks, size_t(shape_.tasks()));
    to.exchanges = options.mode == Mode::fused;
    if (!to.exchanges) continue;
    read(to.waits, rank_[r].waits, size_t(ranks_) * wgs);
    read(to.wgs, rank_[r].wgs, size_t(wgs));
  }
  return result;
}
