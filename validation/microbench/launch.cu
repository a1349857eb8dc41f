// The benchmarks launch and store_end: the host's time to launch a kernel, the time until a kernel's store is visible,
// the time between two events, also around a kernel that stores to a peer, and the gap between two kernels of a stream.
#include <algorithm>
#include <chrono>

#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "harness.hpp"

namespace {

constexpr int kRuns = 31;

// Every WG spins for `spin_ns` ns and records its start and its end.
__global__ void idle_kernel(uint64_t spin_ns, WgStamp* stamps) {
  uint64_t start = 0;
  // Only one thread reads the timer: if all threads of a full SM read it, the stamps would be late.
  if (threadIdx.x == 0) {
    start = global_ns();
    while (spin_ns != 0 && global_ns() < start + spin_ns) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), 0, sm_id(), 0};
}

__global__ void empty_kernel() {}

// Every WG stores 16 bytes and ends `after_ns` later.
__global__ void store_kernel(float4* to, uint64_t after_ns) {
  if (threadIdx.x != 0) return;
  const uint64_t start = global_ns();
  to[blockIdx.x] = make_float4(1, 2, 3, 4);
  while (global_ns() < start + after_ns) {
  }
}

__global__ void host_flag_kernel(volatile uint32_t* flag, uint32_t value) { *flag = value; }

void bench_host(Collector& c) {
  const Parameters none{};
  std::vector<double> call;
  for (int i = 0; i < 200; ++i) {
    const double begin = now_seconds();
    empty_kernel<<<1, 32>>>();
    const double end = now_seconds();
    if (i % 20 == 19) CUDA_CHECK(cudaDeviceSynchronize());  // so that the queue of launches is never full
    if (i >= 20) call.push_back((end - begin) * 1e6);
  }
  c.row("launch", none, "host_call", call, "us");

  uint32_t* flag = nullptr;
  CUDA_CHECK(cudaHostAlloc(&flag, 64, cudaHostAllocMapped));
  *flag = 0;
  std::vector<double> visible;
  for (int i = 0; i < 200; ++i) {
    const double begin = now_seconds();
    host_flag_kernel<<<1, 1>>>(flag, uint32_t(i + 1));
    CUDA_CHECK(cudaGetLastError());
    while (*static_cast<volatile uint32_t*>(flag) != uint32_t(i + 1)) {
      if (now_seconds() > begin + 2) {
        std::fprintf(stderr, "launch: the host never saw the kernel's store\n");
        std::exit(1);
      }
    }
    const double end = now_seconds();
    CUDA_CHECK(cudaDeviceSynchronize());
    if (i >= 20) visible.push_back((end - begin) * 1e6);
  }
  c.row("launch", none, "host_to_store", visible, "us");
  CUDA_CHECK(cudaFreeHost(flag));
}

// Measures the gap between two kernels of a stream: from the end of the first kernel's last WG to the start of the
// second kernel's first WG. The host enqueues the second kernel long before the first one ends.
void bench_gap(Collector& c) {
  for (const int wgs : {1, c.sms(), c.sms() * 4}) {
    const std::vector<double> gap = repeat(
        [&](int) {
          idle_kernel<<<wgs, kThreads>>>(100'000, c.stamps(0));
          idle_kernel<<<wgs, kThreads>>>(2'000, c.stamps(0) + wgs);
          CUDA_CHECK(cudaGetLastError());
          const std::vector<WgStamp> s = c.read(0, 2 * wgs);
          uint64_t last = 0, first = UINT64_MAX;
          for (int w = 0; w < wgs; ++w) {
            last = std::max(last, s[w].end_ns);
            first = std::min(first, s[wgs + w].start_ns);
          }
          return double(int64_t(first - last));  // not as doubles, which have steps of 256 ns at such times
        },
        kRuns);
    c.row("launch", Parameters()("wgs", wgs), "queue_gap", gap, "ns");
  }
}

// Returns times in us between two events around what `launch` launches. A long kernel runs before the first event, so
// that the host's launch times do not count.
template <typename Launch>
std::vector<double> between_events(Collector& c, Launch launch) {
  cudaEvent_t begin, end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  std::vector<double> times = repeat(
      [&](int) {
        idle_kernel<<<1, kThreads>>>(100'000, c.stamps(0));
        CUDA_CHECK(cudaEventRecord(begin));
        launch();
        CUDA_CHECK(cudaEventRecord(end));
        CUDA_CHECK(cudaEventSynchronize(end));
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms * 1e3;
      },
      kRuns);
  CUDA_CHECK(cudaEventDestroy(begin));
  CUDA_CHECK(cudaEventDestroy(end));
  return times;
}

// Measures one and two empty kernels. The time around one is the smallest time that events can show.
void bench_events(Collector& c) {
  const auto empty = [] { empty_kernel<<<1, kThreads>>>(); };
  c.row("launch", Parameters(), "event_pair", between_events(c, empty), "us");
  const auto two = [&] {
    empty();
    empty();
  };
  c.row("launch", Parameters(), "event_pair_2", between_events(c, two), "us");
}

// Measures a kernel that stores to its own memory or to a peer's.
void bench_store_end(Collector& c) {
  for (int remote = 0; remote <= (c.gpus() > 1 ? 1 : 0); ++remote) {
    for (const int wgs : {1, c.sms(), c.sms() * 4}) {
      for (const int after_us : {0, 5}) {
        const auto store = [&] { store_kernel<<<wgs, kThreads>>>(c.pool(remote), uint64_t(after_us) * 1'000); };
        const Parameters of = Parameters()("remote", remote)("wgs", wgs)("after_us", after_us);
        c.row("store_end", of, "time", between_events(c, store), "us");
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "launch", int64_t{1} << 20);
  if (c.wants("launch")) {
    bench_host(c);
    bench_gap(c);
    bench_events(c);
  }
  if (c.wants("store_end")) bench_store_end(c);
  return 0;
}
