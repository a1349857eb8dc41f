// The benchmarks fence_beside and flag_check: how long a system fence, or a look at a flag that is set, takes on an SM
// whose bulk loads are under way, and a fence behind a tile that the SM has stored. One workgroup on each SM: one
// thread loads stages of 48 KiB without end, one stage every `pace_ns` and at most three at a time; another thread
// spins, stores a tile of 64 KiB or none, and executes the fence or looks.
#include "access.cuh"
#include "cuda_check.hpp"
#include "hopper.cuh"

namespace {

constexpr int kTurns = 40, kFirstTurn = 20;  // earlier turns are not counted
constexpr int kStages = 3, kPiece = 4096, kStageBytes = 12 * kPiece, kTileBytes = 64 << 10;
constexpr int kSharedBytes = kStages * kStageBytes + kTileBytes;  // only one workgroup fits on an SM
constexpr int64_t kLoadPool = int64_t{1} << 30, kCachedPool = int64_t{16} << 20;
constexpr int kSpinNs = 26000;

// What is timed: a fence, a load of the flag, a load that acquires, or this and a fence for the loads of the tensor
// copy engine that follow. Rows of flag_check contain these numbers.
enum What { kFence = 0, kRelaxed = 1, kAcquire = 2, kAcquireForCopies = 3 };

struct Arguments {
  const uint8_t* from;  // nullptr: no loads
  uint64_t pool, pace_ns;
  uint8_t* to;  // nullptr: no stores
  int what;
  const uint32_t* flag;  // in own memory; nobody writes it
  uint32_t* took_ns;
  unsigned long long* loaded;
};

__device__ inline void timed(const Arguments& a) {
  if (a.what == kFence) return fence_sys();
  if (a.what == kRelaxed) {
    if (load_relaxed_sys(a.flag) == 1) __trap();  // uses the loaded value
    return;
  }
  if (load_acquire_sys(a.flag) == 1) __trap();
  if (a.what == kAcquireForCopies) asm volatile("fence.proxy.async;" ::: "memory");
}

__global__ void __launch_bounds__(64) timed_kernel(Arguments a) {
  extern __shared__ __align__(1024) uint8_t lds[];
  __shared__ __align__(8) uint64_t barriers[kStages];
  __shared__ volatile int done;
  const uint32_t base = shared_address(lds), barrier = shared_address(barriers);
  if (threadIdx.x == 0) {
    done = 0;
    for (int s = 0; s < kStages; ++s) barrier_init(barrier + 8 * s, 1);
    fence_shared_for_copies();
  }
  __syncthreads();
  if (threadIdx.x == 32 && a.from != nullptr) {
    uint64_t at = uint64_t(blockIdx.x) * 7919 * kPiece, next = global_ns();
    const uint64_t begin = next;
    uint32_t stage = 0;
    while (done == 0) {
      if (stage >= kStages) barrier_wait(barrier + 8 * (stage % kStages), (stage / kStages - 1) & 1);
      while (global_ns() < next) {
      }
      next += a.pace_ns;
      barrier_expect(barrier + 8 * (stage % kStages), kStageBytes);
      for (int p = 0; p < kStageBytes; p += kPiece) {
        bulk_load(base + stage % kStages * kStageBytes + p, a.from + at % a.pool, kPiece,
                  barrier + 8 * (stage % kStages));
        at += 13 * kPiece;
      }
      ++stage;
    }
    for (uint32_t s = stage < kStages ? 0 : stage - kStages; s < stage; ++s)
      barrier_wait(barrier + 8 * (s % kStages), s / kStages & 1);
    atomicAdd(a.loaded, 1000ULL * stage * kStageBytes / (global_ns() - begin));
  }
  if (threadIdx.x == 0) {
    // The fences of the SMs are spread over a turn.
    const uint64_t begin = global_ns() + 20000 + uint64_t(blockIdx.x * 53 % gridDim.x) * kSpinNs / gridDim.x;
    while (global_ns() < begin) {
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      const uint64_t end = global_ns() + kSpinNs;
      while (global_ns() < end) {
      }
      if (a.to != nullptr) {
        uint8_t* const tile = a.to + (uint64_t(turn) * gridDim.x + blockIdx.x) * kTileBytes;
        for (int p = 0; p < kTileBytes; p += kPiece) bulk_store(tile + p, base + kStages * kStageBytes + p, kPiece);
        stores_commit();
        stores_wait();
      }
      const uint64_t asked = global_ns();
      timed(a);
      a.took_ns[turn * gridDim.x + blockIdx.x] = uint32_t(global_ns() - asked);
    }
    done = 1;
  }
}

enum Loads { kNone = 0, kCached = 1, kMemory = 2 };            // rows contain these numbers
enum Stores { kNoTile = 0, kOwnMemory = 1, kPeerMemory = 2 };  // and these

void bench(Collector& c, const char* name, const std::vector<int>& whats, const std::vector<int>& paces_ns) {
  uint32_t *took_ns = nullptr, *flag = nullptr;
  unsigned long long* loaded = nullptr;
  const size_t times = size_t(kTurns) * c.sms();
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaMalloc(&took_ns, times * sizeof *took_ns));
  CUDA_CHECK(cudaMalloc(&flag, sizeof *flag));
  CUDA_CHECK(cudaMemset(flag, 0, sizeof *flag));
  CUDA_CHECK(cudaMalloc(&loaded, sizeof *loaded));
  CUDA_CHECK(cudaFuncSetAttribute(timed_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  const auto one = [&](int what, int loads, int pace_ns, int stores) {
    Arguments a{};
    if (loads != kNone) a.from = reinterpret_cast<const uint8_t*>(c.pool(0));
    a.pool = uint64_t(loads == kCached ? kCachedPool : kLoadPool);
    a.pace_ns = uint64_t(pace_ns);
    if (stores != kNoTile) a.to = reinterpret_cast<uint8_t*>(c.pool(stores == kPeerMemory ? 1 : 0)) + kLoadPool;
    a.what = what;
    a.flag = flag;
    a.took_ns = took_ns;
    a.loaded = loaded;
    std::vector<double> rate;
    const std::vector<double> mean = repeat([&](int i) {
      CUDA_CHECK(cudaMemsetAsync(loaded, 0, sizeof *loaded, c.stream(0)));
      timed_kernel<<<c.sms(), 64, kSharedBytes, c.stream(0)>>>(a);
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaStreamSynchronize(c.stream(0)));
      std::vector<uint32_t> ns(times);
      unsigned long long mb_per_s = 0;
      CUDA_CHECK(cudaMemcpy(ns.data(), took_ns, times * sizeof *took_ns, cudaMemcpyDeviceToHost));
      CUDA_CHECK(cudaMemcpy(&mb_per_s, loaded, sizeof *loaded, cudaMemcpyDeviceToHost));
      double sum = 0;
      for (size_t t = size_t(kFirstTurn) * c.sms(); t < times; ++t) sum += ns[t];
      if (i >= kWarmups) rate.push_back(double(mb_per_s) / 1000);
      return sum / (double(kTurns - kFirstTurn) * c.sms());
    });
    Parameters p = Parameters()("loads", loads)("pace_ns", loads == kNone ? 0 : pace_ns);
    p = what == kFence ? p("stores", stores) : p("what", what);
    c.row(name, p, what == kFence ? "fence" : "look", mean, "ns");
    if (loads != kNone) c.row(name, p, "loaded", rate, "GB/s");
  };
  for (const int what : whats) {
    for (const int loads : {kNone, kCached, kMemory}) {
      for (const int pace_ns : paces_ns) {
        for (const int stores : {kNoTile, kOwnMemory, kPeerMemory}) {
          if (loads == kNone && pace_ns != paces_ns.front()) continue;
          if (stores != kNoTile && what != kFence) continue;
          if (stores == kPeerMemory && c.gpus() < 2) continue;
          one(what, loads, pace_ns, stores);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "fence_beside", 2 * kLoadPool);
  if (c.wants("fence_beside")) bench(c, "fence_beside", {kFence}, {1500, 2000, 3000, 6000, 12000});
  if (c.wants("flag_check")) bench(c, "flag_check", {kRelaxed, kAcquire, kAcquireForCopies}, {2000, 6000});
  return 0;
}
