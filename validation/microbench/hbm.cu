// The benchmarks hbm_read, hbm_write and hbm_copy: bandwidth of reading, writing and copying contiguous memory in
// batches.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;

template <int kUnroll>
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    read_kernel(const float4* from, int64_t vectors_per_wg, float* sink, WgStamp* stamps) {
  const uint64_t start = global_ns();
  from += int64_t(blockIdx.x) * vectors_per_wg;
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < vectors_per_wg; i += kThreads * kUnroll) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(from + i + u * kThreads);
    add_batch(sum, piece);
  }
  keep(sum, sink);
  stamp(stamps, start);
}

template <int kUnroll>
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    copy_kernel(const float4* from, float4* to, int64_t vectors_per_wg, WgStamp* stamps) {
  const uint64_t start = global_ns();
  from += int64_t(blockIdx.x) * vectors_per_wg;
  to += int64_t(blockIdx.x) * vectors_per_wg;
  copy_batches<kUnroll>(from, to, vectors_per_wg);
  __threadfence();
  stamp(stamps, start);
}

__global__ void __launch_bounds__(kThreads) write_kernel(float4* to, int64_t vectors_per_wg, WgStamp* stamps) {
  const uint64_t start = global_ns();
  to += int64_t(blockIdx.x) * vectors_per_wg;
  const float4 value = make_float4(float(threadIdx.x), 1.0F, 2.0F, float(blockIdx.x));
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < vectors_per_wg; i += kThreads * 4) {
#pragma unroll
    for (int u = 0; u < 4; ++u) to[i + u * kThreads] = value;
  }
  __threadfence();
  stamp(stamps, start);
}

enum class Access { read, write, copy };

// Returns the bytes that each WG moves. A run then takes hundreds of microseconds, and many WGs together move far more
// bytes than the L2 holds.
int64_t wg_bytes(int wgs) { return int64_t{wgs <= 132 ? 4 : 2} << 20; }

template <int kUnroll>
int most_wgs_per_sm(Access access) {
  int occupancy = 0;
  switch (access) {
    case Access::read:
      CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy, read_kernel<kUnroll>, kThreads, 0));
      break;
    case Access::write:
      CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy, write_kernel, kThreads, 0));
      break;
    case Access::copy:
      CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy, copy_kernel<kUnroll>, kThreads, 0));
      break;
  }
  return occupancy;
}

template <int kUnroll>
void bench_case(Collector& c, Access access, int wgs) {
  const int per_sm = (wgs + c.sms() - 1) / c.sms();
  if (per_sm > most_wgs_per_sm<kUnroll>(access)) return;
  const int64_t bytes = wg_bytes(wgs);
  const int64_t half = kPoolBytes / 2;
  // Every repetition uses other addresses, so that the L2 holds none of them. Copies go from the lower half of the pool
  // to the upper half.
  const int64_t room = access == Access::copy ? half : kPoolBytes;
  const int64_t places = std::max<int64_t>(1, room / (bytes * wgs));
  std::vector<double> per_wg;
  const std::vector<double> total = repeat([&](int i) {
    float4* at = c.pool(0) + i % places * (bytes * wgs / 16);
    switch (access) {
      case Access::read:
        read_kernel<kUnroll><<<wgs, kThreads>>>(at, bytes / 16, c.sink(0), c.stamps(0));
        break;
      case Access::write:
        write_kernel<<<wgs, kThreads>>>(at, bytes / 16, c.stamps(0));
        break;
      case Access::copy:
        copy_kernel<kUnroll><<<wgs, kThreads>>>(at, at + half / 16, bytes / 16, c.stamps(0));
        break;
    }
    CUDA_CHECK(cudaGetLastError());
    const Span s = c.span(0, wgs);
    if (i >= kWarmups) per_wg.push_back(double(bytes) / s.mean_wg_ns);
    return double(bytes) * wgs / s.ns;
  });
  Parameters p;
  p("wgs", wgs)("wgs_per_sm", per_sm);
  if (access != Access::write) p("in_flight_bytes", kThreads * 16 * kUnroll);
  const char* name = access == Access::read ? "hbm_read" : access == Access::write ? "hbm_write" : "hbm_copy";
  c.row(name, p, "bandwidth", total, "GB/s");
  c.row(name, p, "bandwidth_per_wg", per_wg, "GB/s");
}

void bench(Collector& c, Access access) {
  for (const int wgs : {1, 8, 32, c.sms() / 2, c.sms(), c.sms() * 2, c.sms() * 4, c.sms() * 8}) {
    if (access == Access::write) {
      bench_case<4>(c, access, wgs);
      continue;
    }
    bench_case<2>(c, access, wgs);
    bench_case<8>(c, access, wgs);
    bench_case<16>(c, access, wgs);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "hbm", kPoolBytes);
  if (c.wants("hbm_read")) bench(c, Access::read);
  if (c.wants("hbm_write")) bench(c, Access::write);
  if (c.wants("hbm_copy")) bench(c, Access::copy);
  return 0;
}
