#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench.hpp"
#include "cuda_check.hpp"
#include "evict_l2.hpp"

namespace {

__global__ void fill_input(float* input, int64_t count, int rank, uint32_t seed) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x)
    input[i] = float(input_value(rank, i, seed));
}

// Counts the wrong elements of `output`. Its chunk c must hold the sum of the terms first[c] to first[c + 1] - 1.
__global__ void count_wrong(const float* output, int64_t chunks, int64_t per_chunk, const Term* terms,
                            const int32_t* first, uint32_t seed, unsigned long long* wrong) {
  const int64_t count = chunks * per_chunk;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t chunk = i / per_chunk, at = i % per_chunk;
    if (first[chunk] == first[chunk + 1]) continue;
    int want = 0;
    for (int t = first[chunk]; t < first[chunk + 1]; ++t)
      want += terms[t].times * input_value(terms[t].rank, terms[t].chunk * per_chunk + at, seed);
    if (output[i] != float(want)) atomicAdd(wrong, 1ULL);
  }
}

template <typename T>
T* upload(const std::vector<T>& values) {
  T* device = nullptr;
  CUDA_CHECK(cudaMalloc(&device, std::max<size_t>(1, values.size()) * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

}  // namespace

LoadedPlan::LoadedPlan(const Plan& plan, int gpus, int sms)
    : plan_(plan),
      gpus_(gpus),
      layout_(plan_),
      expected_(expected_of(plan_)),
      slabs_(size_t(plan.ranks())),
      rank_(size_t(plan.ranks())) {
  std::vector<size_t> resident(size_t(gpus), 0);
  for (int r = 0; r < plan.ranks(); ++r) resident[size_t(r % gpus)] += plan.gpus[size_t(r)].blocks.size();
  const size_t most = *std::max_element(resident.begin(), resident.end());
  if (most > size_t(sms)) {
    std::fprintf(stderr, "%s: %zu thread blocks on a GPU, %d SMs: they would not all be resident\n", plan.file.c_str(),
                 most, sms);
    std::exit(2);
  }
  for (int r = 0; r < plan.ranks(); ++r) {
    CUDA_CHECK(cudaSetDevice(r % gpus_));
    CUDA_CHECK(cudaMalloc(&slabs_[size_t(r)], size_t(layout_.bytes(r))));
  }
  for (int r = 0; r < plan.ranks(); ++r) {
    Rank& g = rank_[size_t(r)];
    const GpuProgram program = compile(plan_.gpus[size_t(r)]);
    const size_t blocks = program.blocks.size();
    CUDA_CHECK(cudaSetDevice(r % gpus_));
    g.blocks = upload(layout_.blocks(r, program, slabs_));
    g.ops = upload(program.ops);
    g.waits = upload(program.waits);
    g.sources = upload(program.sources);
    g.stamps = upload(std::vector<WgStamp>(blocks));
    g.stuck = upload(std::vector<Stuck>(blocks));
    std::vector<Term> terms;
    std::vector<int32_t> first = {0};
    for (const std::vector<Term>& chunk : expected_[size_t(r)]) {
      terms.insert(terms.end(), chunk.begin(), chunk.end());
      first.push_back(int32_t(terms.size()));
    }
    g.terms = upload(terms);
    g.first_term = upload(first);
  }
  empty_connections();
}

LoadedPlan::~LoadedPlan() {
  for (int r = 0; r < plan_.ranks(); ++r) {
    const Rank& g = rank_[size_t(r)];
    cudaSetDevice(r % gpus_);
    for (void* p : {static_cast<void*>(g.blocks), static_cast<void*>(g.ops), static_cast<void*>(g.waits),
                    static_cast<void*>(g.sources), static_cast<void*>(slabs_[size_t(r)]), static_cast<void*>(g.stamps),
                    static_cast<void*>(g.stuck), static_cast<void*>(g.terms), static_cast<void*>(g.first_term)})
      cudaFree(p);
  }
}

void LoadedPlan::empty_connections() {
  for (int r = 0; r < plan_.ranks(); ++r) {
    CUDA_CHECK(cudaSetDevice(r % gpus_));
    CUDA_CHECK(cudaMemset(slabs_[size_t(r)], 0, size_t(layout_.bytes(r))));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

Bench::Bench(int ranks, int gpus, int sms, int64_t most_buffer_bytes)
    : gpus_(gpus), sms_(sms), most_(most_buffer_bytes), rank_(size_t(ranks)) {
  CUDA_CHECK(cudaHostAlloc(&host_, 256, cudaHostAllocPortable | cudaHostAllocMapped));
  CUDA_CHECK(cudaHostAlloc(&wrong_, sizeof *wrong_ * size_t(ranks), cudaHostAllocPortable));
  std::memset(host_, 0, 256);
  for (int r = 0; r < ranks; ++r) {
    Rank& g = rank_[size_t(r)];
    use(r);
    CUDA_CHECK(cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreate(&g.begin));
    CUDA_CHECK(cudaEventCreate(&g.end));
    for (char*& buffer : g.buffer) CUDA_CHECK(cudaMalloc(&buffer, size_t(most_)));
    CUDA_CHECK(cudaMalloc(&g.gate, 256));
    CUDA_CHECK(cudaMemset(g.gate, 0, 256));
    CUDA_CHECK(cudaMalloc(&g.flush, kFlushBytes));
    CUDA_CHECK(cudaMemset(g.flush, 0, kFlushBytes));
    CUDA_CHECK(cudaMalloc(&g.wrong, sizeof *g.wrong));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

Bench::~Bench() {
  for (size_t r = 0; r < rank_.size(); ++r) {
    Rank& g = rank_[r];
    cudaSetDevice(int(r) % gpus_);
    for (char* buffer : g.buffer) cudaFree(buffer);
    cudaFree(g.gate);
    cudaFree(g.flush);
    cudaFree(g.wrong);
    cudaEventDestroy(g.begin);
    cudaEventDestroy(g.end);
    cudaStreamDestroy(g.stream);
  }
  cudaFreeHost(host_);
  cudaFreeHost(wrong_);
}

int64_t Bench::buffer_bytes(const Plan& plan, int64_t bytes) {
  int64_t most = plan.chunks;
  for (const PlanGpu& g : plan.gpus) most = std::max<int64_t>({most, g.chunks[0], g.chunks[1], g.chunks[2]});
  return (bytes + plan.chunks - 1) / plan.chunks * most;
}

char* Bench::buffer(const Plan& plan, const Cut& cut, int rank, int which) const {
  const Plan::Place place = plan.place(rank, which);
  return rank_[size_t(rank)].buffer[place.buffer] + place.chunk * cut.chunk_bytes;
}

void Bench::use(int rank) const { CUDA_CHECK(cudaSetDevice(rank % gpus_)); }

void Bench::synchronise(int ranks) {
  for (int r = 0; r < ranks; ++r) {
    use(r);
    CUDA_CHECK(cudaStreamSynchronize(rank_[size_t(r)].stream));
  }
}

void Bench::prepare(const LoadedPlan& loaded, const Cut& cut) {
  const Plan& plan = loaded.plan();
  for (int r = 0; r < plan.ranks(); ++r) {
    const Rank& g = rank_[size_t(r)];
    use(r);
    const int64_t used = buffer_bytes(plan, cut.chunk_bytes * plan.chunks);
    for (char* b : g.buffer) CUDA_CHECK(cudaMemsetAsync(b, 0xff, size_t(used), g.stream));  // NaN
    fill_input<<<sms_ * 4, 256, 0, g.stream>>>(reinterpret_cast<float*>(buffer(plan, cut, r, 0)),
                                               plan.input_chunks(r) * cut.chunk_bytes / 4, r, epoch_);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemsetAsync(g.wrong, 0, sizeof *g.wrong, g.stream));
    launch_evict_l2(g.stream, g.flush, sms_);
  }
}

RunResult Bench::run(LoadedPlan& loaded, int64_t bytes, uint64_t limit_ns) {
  const Plan& plan = loaded.plan();
  const int ranks = plan.ranks();
  Cut cut;
  const std::string problem = cut_of(plan, bytes, cut);
  if (!problem.empty() || buffer_bytes(plan, bytes) > most_) {
    std::fprintf(stderr, "%s: %lld bytes: %s\n", plan.file.c_str(), static_cast<long long>(bytes), problem.c_str());
    std::exit(2);
  }
  ++epoch_;
  static_cast<volatile uint32_t*>(host_)[32] = 0;
  prepare(loaded, cut);
  for (int r = 0; r < ranks; ++r) {
    Rank& g = rank_[size_t(r)];
    const LoadedPlan::Rank& p = loaded.rank_[size_t(r)];
    use(r);
    Gate gate{};
    for (int other = 0; other < ranks; ++other) gate.ready[other] = rank_[size_t(other)].gate;
    launch_gate(g.stream, host_, gate, r, ranks, epoch_, reinterpret_cast<int*>(host_ + 16));
    Launch launch{};
    launch.blocks = p.blocks;
    launch.ops = p.ops;
    launch.waits = p.waits;
    launch.sources = p.sources;
    for (int b = 0; b < 3; ++b) launch.buffer[b] = buffer(plan, cut, r, b);
    launch.cut = cut;
    launch.number = epoch_ & 0xffffffU;
    launch.semaphores = loaded.layout_.semaphores(r, loaded.slabs_);
    launch.stamps = p.stamps;
    launch.stuck = p.stuck;
    launch.stop = host_ + 32;
    launch.limit_ns = limit_ns;
    const int blocks = int(plan.gpus[size_t(r)].blocks.size());
    CUDA_CHECK(cudaEventRecord(g.begin, g.stream));
    if (blocks > 0) launch_interpreter(g.stream, launch, plan.ll, blocks);
    CUDA_CHECK(cudaEventRecord(g.end, g.stream));
  }
  *static_cast<volatile uint32_t*>(host_) = epoch_;
  synchronise(ranks);
  if (static_cast<volatile uint32_t*>(host_)[16] != 0) {
    std::fprintf(stderr, "bench: a gate timed out: the work was not enqueued in two seconds\n");
    std::exit(1);
  }
  RunResult result;
  result.ended = static_cast<volatile uint32_t*>(host_)[32] == 0;
  if (!result.ended) {
    result.stuck = stuck_text(loaded);
    loaded.empty_connections();
    return result;
  }
  double fastest = 1e30;
  for (int r = 0; r < ranks; ++r) {
    const Rank& g = rank_[size_t(r)];
    float ms = 0;
    use(r);
    CUDA_CHECK(cudaEventElapsedTime(&ms, g.begin, g.end));
    result.us = std::max(result.us, double(ms) * 1e3);
    fastest = std::min(fastest, double(ms) * 1e3);
    std::vector<WgStamp> stamps(plan.gpus[size_t(r)].blocks.size());
    if (stamps.empty()) continue;
    CUDA_CHECK(cudaMemcpy(stamps.data(), loaded.rank_[size_t(r)].stamps, sizeof(WgStamp) * stamps.size(),
                          cudaMemcpyDeviceToHost));
    result.inside_us = std::max(result.inside_us, span_of(stamps).ns / 1e3);
  }
  result.skew_us = result.us - fastest;
  verify(loaded, cut, bytes);
  return result;
}

void Bench::verify(const LoadedPlan& loaded, const Cut& cut, int64_t bytes) {
  const Plan& plan = loaded.plan();
  for (int r = 0; r < plan.ranks(); ++r) {
    const Rank& g = rank_[size_t(r)];
    const LoadedPlan::Rank& p = loaded.rank_[size_t(r)];
    use(r);
    count_wrong<<<sms_ * 8, 256, 0, g.stream>>>(reinterpret_cast<const float*>(buffer(plan, cut, r, 1)),
                                                plan.output_chunks(r), cut.chunk_bytes / 4, p.terms, p.first_term,
                                                epoch_, g.wrong);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(wrong_ + r, g.wrong, sizeof *g.wrong, cudaMemcpyDeviceToHost, g.stream));
  }
  synchronise(plan.ranks());
  for (int r = 0; r < plan.ranks(); ++r) {
    if (wrong_[r] == 0) continue;
    std::fprintf(stderr, "%s: %lld bytes: %llu of %lld elements of rank %d are wrong\n", plan.file.c_str(),
                 static_cast<long long>(bytes), wrong_[r],
                 static_cast<long long>(plan.output_chunks(r) * cut.chunk_bytes / 4), r);
    std::exit(1);
  }
}

std::string Bench::stuck_text(const LoadedPlan& loaded) const {
  std::string text;
  for (int r = 0; r < loaded.plan().ranks(); ++r) {
    const std::vector<ThreadBlock>& blocks = loaded.plan().gpus[size_t(r)].blocks;
    std::vector<Stuck> stuck(blocks.size());
    use(r);
    CUDA_CHECK(
        cudaMemcpy(stuck.data(), loaded.rank_[size_t(r)].stuck, sizeof(Stuck) * stuck.size(), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemset(loaded.rank_[size_t(r)].stuck, 0, sizeof(Stuck) * stuck.size()));
    CUDA_CHECK(cudaDeviceSynchronize());
    for (size_t b = 0; b < stuck.size(); ++b) {
      const Stuck& s = stuck[b];
      if (s.what == Stuck::nothing) continue;
      if (!text.empty()) text += "; ";
      text += "GPU " + std::to_string(r) + " block " + std::to_string(b) + " step " + std::to_string(s.step) +
              (s.what == Stuck::data   ? " waits for data of GPU " + std::to_string(blocks[b].recv)
               : s.what == Stuck::room ? " waits for free FIFO slots to GPU " + std::to_string(blocks[b].send)
                                       : " waits for a thread block of its GPU");
    }
  }
  return text;
}
