// The benchmarks flag (time until another GPU sees a flag), fence, first_fence, fences_together and loaded_fence (time
// of a system fence after stores: of one WG, as a kernel's first fence, of all WGs at the same time, and under load).
#include <algorithm>
#include <numeric>

#include "access.cuh"
#include "clock_sync.hpp"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{4} << 30;

// Measures the time from the first store of a WG until its system fence returns, for `vectors` 16-byte stores.
__global__ void fence_kernel(float4* to, int vectors, uint64_t* took, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const uint64_t start = global_ns();
    for (int i = threadIdx.x; i < vectors; i += kThreads) to[i] = make_float4(1.0F, 2.0F, 3.0F, float(round));
    __syncthreads();
    if (threadIdx.x == 0) {
      fence_sys();
      took[round] = global_ns() - start;
    }
  }
}

constexpr int kTogetherRounds = 24;
constexpr uint64_t kRoundNs = 40'000;

// In every round, all WGs store `vectors` x 16 B and fence; each group of `together` WGs begins `apart_ns` after the
// one before it. Records when each WG begins to store and when its fence returns. The first WG sets *begin, which is
// zero, to the time of the first round.
__global__ void __launch_bounds__(kThreads)
    together_kernel(float4* to, int vectors, int together, uint64_t apart_ns, unsigned long long* begin,
                    uint64_t* began, uint64_t* ended) {
  __shared__ uint64_t first;
  if (threadIdx.x == 0) {
    const unsigned long long mine = global_ns() + kRoundNs, set = atomicCAS(begin, 0ULL, mine);
    first = (set == 0 ? mine : set) + blockIdx.x / together * apart_ns;
  }
  __syncthreads();
  for (int round = 0; round < kTogetherRounds; ++round) {
    float4* const mine = to + (int64_t{round} * gridDim.x + blockIdx.x) * vectors;
    const int at = blockIdx.x * kTogetherRounds + round;
    if (threadIdx.x == 0) {
      while (global_ns() < first + round * kRoundNs) {
      }
      began[at] = global_ns();
    }
    __syncthreads();
    for (int i = threadIdx.x; i < vectors; i += kThreads) mine[i] = make_float4(1, 2, 3, 4);
    __syncthreads();
    if (threadIdx.x == 0) {
      fence_sys();
      ended[at] = global_ns();
    }
  }
}

// Measures the time of a system fence while memory and links are busy. In every round of a WG, each group of 32 threads
// gathers `rows` rows of 512 bytes, the WG stores `vectors` x 16 bytes to its peer, and then thread 0 executes the
// fence. Only the fence is timed.
__global__ void __launch_bounds__(kThreads)
    loaded_fence_kernel(const float4* pool, uint32_t pool_rows, int rows, Peers peers, int vectors, int rounds,
                        uint32_t* took, float* sink) {
  const int group = int(threadIdx.x) / 32, column = int(threadIdx.x) % 32;
  float4* to = peers.base[blockIdx.x % peers.count] + int64_t(blockIdx.x) * vectors * rounds;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int round = 0; round < rounds; ++round) {
    const uint32_t first = ((blockIdx.x * rounds + round) * 8 + group) * 4096U;
#pragma unroll 1
    for (int i = 0; i < rows; i += 8) {
      float4 piece[8];
#pragma unroll
      for (int u = 0; u < 8; ++u)
        piece[u] = load_streaming(pool + int64_t(__umulhi(hash32(first + i + u), pool_rows)) * 32 + column);
      add_batch(sum, piece);
    }
    for (int i = threadIdx.x; i < vectors; i += kThreads) to[int64_t(round) * vectors + i] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      const uint64_t start = global_ns();
      fence_sys();
      took[blockIdx.x * rounds + round] = uint32_t(global_ns() - start);
    }
    __syncthreads();
  }
  keep(sum, sink);
}

void bench_flag(Collector& c) {
  ClockSync sync(c.gpus());
  std::vector<double> fastest, median;
  for (int i = 0; i < kWarmups + kRepetitions; ++i) {
    const ClockOffsets offsets = sync.measure();
    if (i < kWarmups) continue;
    for (const PairOffset& pair : offsets.pairs) {
      fastest.push_back(pair.min_rtt_ns);
      median.push_back(pair.median_rtt_ns);
    }
  }
  const Parameters none{};
  c.row("flag", none, "round_trip", median, "ns");
  c.row("flag", none, "round_trip_fastest", fastest, "ns");
}

void bench_fence(Collector& c) {
  constexpr int kRounds = 64;
  uint64_t* took = nullptr;
  CUDA_CHECK(cudaMalloc(&took, sizeof(uint64_t) * kRounds));
  for (int remote = 0; remote <= (c.gpus() > 1 ? 1 : 0); ++remote) {
    for (const int bytes : {0, 4096, 8192, 65536}) {
      fence_kernel<<<1, kThreads>>>(c.pool(remote), bytes / 16, took, kRounds);
      CUDA_CHECK(cudaGetLastError());
      std::vector<uint64_t> host(kRounds);
      CUDA_CHECK(cudaMemcpy(host.data(), took, sizeof(uint64_t) * kRounds, cudaMemcpyDeviceToHost));
      std::vector<double> ns;
      for (int i = 4; i < kRounds; ++i) ns.push_back(double(host[i]));
      c.row("fence", Parameters()("remote", remote)("store_bytes", bytes), "time", ns, "ns");
    }
  }
  CUDA_CHECK(cudaFree(took));
}

void bench_fences_together(Collector& c) {
  unsigned long long* first_round = nullptr;
  uint64_t *began = nullptr, *ended = nullptr;
  CUDA_CHECK(cudaMalloc(&first_round, sizeof(*first_round)));
  const int most = c.sms() * 8 * kTogetherRounds;
  CUDA_CHECK(cudaMalloc(&began, sizeof(uint64_t) * most));
  CUDA_CHECK(cudaMalloc(&ended, sizeof(uint64_t) * most));
  const auto measure = [&](int remote, int per_sm, int bytes, int apart_ns) {
    const int wgs = c.sms() * per_sm;
    std::vector<uint64_t> begin(size_t(wgs) * kTogetherRounds), end(begin.size());
    CUDA_CHECK(cudaMemset(first_round, 0, sizeof(*first_round)));
    together_kernel<<<wgs, kThreads>>>(c.pool(remote), bytes / 16, c.sms(), apart_ns, first_round, began, ended);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(begin.data(), began, sizeof(uint64_t) * begin.size(), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(end.data(), ended, sizeof(uint64_t) * end.size(), cudaMemcpyDeviceToHost));
    std::vector<double> first, mean, last;
    for (int round = 4; round < kTogetherRounds; ++round) {  // the first fence of a kernel takes longer
      uint64_t start = UINT64_MAX;
      for (int w = 0; w < wgs; ++w) start = std::min(start, begin[size_t(w) * kTogetherRounds + round]);
      std::vector<double> took;
      for (int w = 0; w < wgs; ++w) took.push_back(double(end[size_t(w) * kTogetherRounds + round] - start));
      first.push_back(*std::min_element(took.begin(), took.end()));
      mean.push_back(std::accumulate(took.begin(), took.end(), 0.0) / wgs);
      last.push_back(*std::max_element(took.begin(), took.end()));
    }
    const Parameters of =
        Parameters()("remote", remote)("wgs_per_sm", per_sm)("store_bytes", bytes)("apart_ns", apart_ns);
    c.row("fences_together", of, "first", first, "ns");
    c.row("fences_together", of, "mean", mean, "ns");
    c.row("fences_together", of, "last", last, "ns");
  };
  for (int remote = 0; remote <= (c.gpus() > 1 ? 1 : 0); ++remote)
    for (const int per_sm : {1, 2, 4, 8})
      for (const int bytes : {0, 4096, 8192})
        for (const int apart_ns : {0, 100, 400})
          if (per_sm > 1 || apart_ns == 0) measure(remote, per_sm, bytes, apart_ns);
  CUDA_CHECK(cudaFree(first_round));
  CUDA_CHECK(cudaFree(began));
  CUDA_CHECK(cudaFree(ended));
}

// Each WG is on an SM of its own, because there are not more WGs than SMs. A copy that is enqueued behind the kernel
// while it runs makes its first fence as short as the others, so the host waits before it copies the results.
void bench_first_fence(Collector& c) {
  unsigned long long* first_round = nullptr;
  uint64_t *began = nullptr, *ended = nullptr;
  CUDA_CHECK(cudaMalloc(&first_round, sizeof(*first_round)));
  const int most = c.sms() * kTogetherRounds;
  CUDA_CHECK(cudaMalloc(&began, sizeof(uint64_t) * most));
  CUDA_CHECK(cudaMalloc(&ended, sizeof(uint64_t) * most));
  const auto measure = [&](int remote, int wgs, int bytes, int apart_ns) {
    std::vector<double> first, last, first_later, last_later;
    for (int i = 0; i < kWarmups + kRepetitions; ++i) {
      std::vector<uint64_t> begin(size_t(wgs) * kTogetherRounds), end(begin.size());
      CUDA_CHECK(cudaMemset(first_round, 0, sizeof(*first_round)));
      together_kernel<<<wgs, kThreads>>>(c.pool(remote), bytes / 16, 1, apart_ns, first_round, began, ended);
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaDeviceSynchronize());
      CUDA_CHECK(cudaMemcpy(begin.data(), began, sizeof(uint64_t) * begin.size(), cudaMemcpyDeviceToHost));
      CUDA_CHECK(cudaMemcpy(end.data(), ended, sizeof(uint64_t) * end.size(), cudaMemcpyDeviceToHost));
      if (i < kWarmups) continue;
      for (int round = 0; round < kTogetherRounds; ++round) {
        const auto at = [&](int wg) { return size_t(wg) * kTogetherRounds + round; };
        (round == 0 ? first : first_later).push_back(double(end[at(0)] - begin[at(0)]));
        (round == 0 ? last : last_later).push_back(double(end[at(wgs - 1)] - begin[at(wgs - 1)]));
      }
    }
    const Parameters of = Parameters()("remote", remote)("wgs", wgs)("store_bytes", bytes)("apart_ns", apart_ns);
    c.row("first_fence", of, "first", first, "ns");
    c.row("first_fence", of, "last", last, "ns");
    c.row("first_fence", of, "first_later", first_later, "ns");
    c.row("first_fence", of, "last_later", last_later, "ns");
  };
  for (int remote = 0; remote <= (c.gpus() > 1 ? 1 : 0); ++remote)
    for (const int bytes : {0, 4096, 65536}) {
      measure(remote, 1, bytes, 0);
      for (const int apart_ns : {0, 100, 200, 400, 800, 1600}) measure(remote, 2, bytes, apart_ns);
      measure(remote, c.sms(), bytes, 0);
    }
  CUDA_CHECK(cudaFree(first_round));
  CUDA_CHECK(cudaFree(began));
  CUDA_CHECK(cudaFree(ended));
}

void bench_loaded_fence(Collector& c) {
  struct Case {
    int rows, bytes;  // per round: rows that each group of 32 threads gathers, bytes that a WG stores to the peer
  };
  constexpr int kRounds = 16;
  for (const int per_sm : {1, 4}) {
    for (const Case one : {Case{32, 0}, Case{0, 8192}, Case{32, 8192}, Case{8, 8192}}) {
      for (int peers = 1; peers < c.gpus(); peers += std::max(1, c.gpus() - 2)) {
        const int wgs = c.sms() * per_sm;
        uint32_t* took = nullptr;
        CUDA_CHECK(cudaMalloc(&took, sizeof(uint32_t) * wgs * kRounds));
        std::vector<double> ns;
        for (int i = 0; i < kWarmups + 3; ++i) {
          Peers to{};
          to.count = peers;
          for (int k = 0; k < peers; ++k) to.base[k] = c.pool((1 + k) % c.gpus());
          loaded_fence_kernel<<<wgs, kThreads>>>(c.pool(0), uint32_t(kPoolBytes / 512), one.rows, to, one.bytes / 16,
                                                 kRounds, took, c.sink(0));
          CUDA_CHECK(cudaGetLastError());
          std::vector<uint32_t> host(size_t(wgs) * kRounds);
          CUDA_CHECK(cudaMemcpy(host.data(), took, sizeof(uint32_t) * host.size(), cudaMemcpyDeviceToHost));
          if (i < kWarmups) continue;
          for (size_t n = 0; n < host.size(); ++n)
            if (n % kRounds >= 4) ns.push_back(double(host[n]));  // in the first rounds the load still increases
        }
        CUDA_CHECK(cudaFree(took));
        c.row("loaded_fence",
              Parameters()("wgs_per_sm", per_sm)("gather_bytes", one.rows * 8 * 512)("store_bytes", one.bytes)("peers",
                                                                                                               peers),
              "time", ns, "ns");
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "flag", kPoolBytes);
  if (c.wants_peers("flag")) bench_flag(c);
  if (c.wants("fence")) bench_fence(c);
  if (c.wants("first_fence")) bench_first_fence(c);
  if (c.wants("fences_together")) bench_fences_together(c);
  if (c.wants_peers("loaded_fence")) bench_loaded_fence(c);
  return 0;
}
