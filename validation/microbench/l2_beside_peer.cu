// The benchmark l2_beside_peer: the bandwidth of a kernel that reads a buffer in the L2 (or in memory) while a peer
// writes into this GPU's memory. The peer writes by stores, by bulk copies from shared memory, or by a copy engine.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"
#include "hopper.cuh"

namespace {

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kPoolBytes = 3072 * kMib;
constexpr int64_t kIncoming = 2048 * kMib;                    // start of the region that the peer writes
constexpr uint64_t kWriteNs = 1'200'000;                      // longer than a window and the time before it
constexpr int kPiece = 4096;                                  // bytes of a bulk copy
constexpr int kUnroll = 8, kPerSm = 4;                        // of the reader
enum Way { kNone = 0, kStores = 1, kBulk = 2, kEngine = 3 };  // rows contain these numbers

// Each WG writes its share of the first `vectors` vectors of `to` again and again for kWriteNs.
__global__ void __launch_bounds__(kThreads) write_kernel(float4* to, int64_t vectors, int way, WgStamp* stamps) {
  __shared__ alignas(128) float4 source[kPiece / 16];
  __shared__ unsigned long long total;
  if (threadIdx.x == 0) total = 0;
  for (int i = int(threadIdx.x); i < kPiece / 16; i += kThreads) source[i] = make_float4(1, 2, 3, float(i));
  fence_shared_for_copies();
  __syncthreads();
  constexpr int kBatch = kThreads * 4;  // vectors: 16 KiB, or one piece for each of 4 warps
  const int64_t share = vectors / gridDim.x / (2 * kBatch) * (2 * kBatch);
  to += int64_t(blockIdx.x) * share;
  // All lanes of a warp use lane 0's time, so that they leave the loop together.
  const auto now = [] { return __shfl_sync(0xffffffffU, global_ns(), 0); };
  const uint64_t start = now(), end = start + kWriteNs;
  const int warp = int(threadIdx.x) / 32;
  uint64_t bytes = 0;
  int64_t at = 0;
  while (now() < end) {
    if (way == kStores) {
#pragma unroll
      for (int u = 0; u < 4; ++u) to[at + u * kThreads + threadIdx.x] = make_float4(1, 2, 3, float(threadIdx.x));
      bytes += 4 * 32 * 16;
      at += kBatch;
    } else {
      if (threadIdx.x % 32 == 0) {
        asm volatile(
            "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + at + warp * (kPiece / 16)),
            "r"(shared_address(source)), "r"(kPiece)
            : "memory");
        stores_commit();
        stores_wait_read<8>();
      }
      __syncwarp();
      bytes += kPiece;
      at += 2 * kBatch;  // 8 warps
    }
    if (at >= share) at = 0;
  }
  if (threadIdx.x % 32 == 0) {
    stores_wait();
    atomicAdd(&total, static_cast<unsigned long long>(bytes));
  }
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), total, sm_id(), 0};
}

struct Case {
  int way = kNone, wgs = 0;
  int64_t region = 0;  // bytes of the region that is written repeatedly
};

class Beside {
 public:
  explicit Beside(Collector& c) : c_(c) {
    CUDA_CHECK(cudaSetDevice(1));
    CUDA_CHECK(cudaEventCreate(&begin_));
    CUDA_CHECK(cudaEventCreate(&end_));
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaMalloc(&word_, sizeof *word_));
  }
  ~Beside() {
    cudaFree(word_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  void bench(const Case& one, int64_t footprint) {
    std::vector<double> incoming;
    const std::vector<double> read = repeat([&](int i) {
      const double got = once(one, footprint, i);
      if (i >= kWarmups) incoming.push_back(incoming_);
      return got;
    });
    const Parameters p =
        Parameters()("footprint_bytes", footprint)("way", one.way)("wgs", one.wgs)("region_bytes", one.region);
    c_.row("l2_beside_peer", p, "read_bandwidth", read, "GB/s");
    c_.row("l2_beside_peer", p, "incoming_bandwidth", incoming, "GB/s");
  }

 private:
  double once(const Case& one, int64_t footprint, int seed) {
    float4* to = c_.pool(0) + kIncoming / 16;
    const int readers = c_.sms() * kPerSm;
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaMemset(word_, 0, sizeof *word_));
    CUDA_CHECK(cudaDeviceSynchronize());
    gate_.hold(0, c_.stream(0));
    const Window window{word_, 200'000, 200'000, 300'000};
    read_window_kernel<kUnroll><<<readers, kThreads, 0, c_.stream(0)>>>(c_.pool(0), footprint / 16, uint32_t(seed),
                                                                        window, c_.sink(0), c_.stamps(0));
    CUDA_CHECK(cudaGetLastError());
    if (one.way != kNone) {
      gate_.hold(1, c_.stream(1));
      CUDA_CHECK(cudaEventRecord(begin_, c_.stream(1)));
      if (one.way == kEngine) {
        const int64_t copies = 512 * kMib / one.region;
        for (int64_t i = 0; i < copies; ++i)
          CUDA_CHECK(cudaMemcpyPeerAsync(to, 0, c_.pool(1), 1, size_t(one.region), c_.stream(1)));
      } else {
        write_kernel<<<one.wgs, kThreads, 0, c_.stream(1)>>>(to, one.region / 16, one.way, c_.stamps(1));
        CUDA_CHECK(cudaGetLastError());
      }
      CUDA_CHECK(cudaEventRecord(end_, c_.stream(1)));
    }
    gate_.open();
    double sum = 0;
    for (const WgStamp& s : c_.read(0, readers)) sum += window_rate(s);
    incoming_ = 0;
    if (one.way == kEngine) {
      float ms = 0;
      CUDA_CHECK(cudaEventSynchronize(end_));
      CUDA_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
      incoming_ = double(512 * kMib) / (double(ms) * 1e6);
    } else if (one.way != kNone) {
      for (const WgStamp& s : c_.read(1, one.wgs)) incoming_ += window_rate(s);
    }
    if (gate_.gave_up()) std::fprintf(stderr, "l2_beside_peer: a gate timed out; its repetition is kept\n");
    return sum;
  }

  Collector& c_;
  HostGate gate_;
  unsigned long long* word_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  double incoming_ = 0;
};

void bench_beside(Collector& c) {
  Beside beside(c);
  std::vector<Case> cases = {{kNone, 0, 0}};
  // The first region fits into the L2 of the receiver, the second does not.
  for (const int64_t region : {16 * kMib, 512 * kMib}) {
    for (const int way : {kStores, kBulk})
      for (const int wgs : {1, 2, 4, 8, 16, 32, 132}) cases.push_back({way, wgs, region});
    cases.push_back({kEngine, 0, region});
  }
  for (const int64_t footprint : {8 * kMib, 24 * kMib, 2048 * kMib})
    for (const Case& one : cases) beside.bench(one, footprint);
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "l2_beside_peer", kPoolBytes);
  if (c.wants_peers("l2_beside_peer")) bench_beside(c);
  return 0;
}
