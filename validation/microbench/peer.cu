// The benchmarks peer_store, peer_fan_in, peer_load and peer_copy: bandwidth of workgroups that write to or read from
// other GPUs.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;

// WG w stores chunks of `chunk_vectors` x 16 B, `stride_vectors` x 16 B apart, to peer w % count. Each thread issues 4
// independent stores at a time. The end is recorded after a system fence, when the peer has the data.
__global__ void __launch_bounds__(kThreads) store_kernel(Peers peers, int64_t vectors_per_wg, int chunk_vectors,
                                                         int stride_vectors, int64_t region_vectors, WgStamp* stamps) {
  const uint64_t start = global_ns();
  float4* to = peers.base[blockIdx.x % peers.count] + int64_t(blockIdx.x / peers.count) * region_vectors;
  const float4 value = make_float4(float(threadIdx.x), 1.0F, 2.0F, float(blockIdx.x));
  // All sizes are powers of two. So addresses are computed by shifts and masks, which do not slow the stores down.
  const int shift = 31 - __clz(chunk_vectors);
  for (int64_t i = threadIdx.x; i < vectors_per_wg; i += kThreads * 4) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int64_t v = i + u * kThreads;
      to[(v >> shift) * stride_vectors + (v & (chunk_vectors - 1))] = value;
    }
  }
  fence_sys();
  stamp(stamps, start);
}

// Reads the memory of peers. Each thread requests kUnroll vectors before it uses the first one.
template <int kUnroll>
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    load_kernel(Peers peers, int64_t vectors_per_wg, float* sink, WgStamp* stamps) {
  const uint64_t start = global_ns();
  const float4* from = peers.base[blockIdx.x % peers.count] + int64_t(blockIdx.x / peers.count) * vectors_per_wg;
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

// Copies local memory to a peer; each thread issues kUnroll loads before their stores.
template <int kUnroll>
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    copy_kernel(const float4* from, Peers peers, int64_t vectors_per_wg, WgStamp* stamps) {
  const uint64_t start = global_ns();
  float4* to = peers.base[blockIdx.x % peers.count] + int64_t(blockIdx.x / peers.count) * vectors_per_wg;
  from += int64_t(blockIdx.x) * vectors_per_wg;
  copy_batches<kUnroll>(from, to, vectors_per_wg);
  fence_sys();
  stamp(stamps, start);
}

int64_t wg_bytes(int wgs) { return int64_t{wgs <= 32 ? 8 : wgs <= 264 ? 2 : 1} << 20; }

struct Rates {
  std::vector<double> total;   // bandwidth of the slowest sender
  std::vector<double> per_wg;  // mean
};

// Measures the rates of several senders whose kernels begin together. `launch(sender, repetition)` enqueues the
// sender's kernel on its stream.
template <typename Launch>
Rates measure(Collector& c, int wgs, const std::vector<int>& senders, int64_t bytes_per_wg, Launch launch) {
  Rates rates;
  HostGate gate;
  rates.total = repeat([&](int i) {
    for (const int r : senders) {
      gate.hold(r, c.stream(r));
      launch(r, i);
      CUDA_CHECK(cudaGetLastError());
    }
    gate.open();
    double slowest = 0, wg_ns = 0;
    for (const int r : senders) {
      const Span s = c.span(r, wgs);
      slowest = std::max(slowest, s.ns);
      wg_ns += s.mean_wg_ns / double(senders.size());
    }
    if (gate.gave_up()) std::fprintf(stderr, "peer: a gate timed out; its repetition is kept\n");
    if (i >= kWarmups) rates.per_wg.push_back(double(bytes_per_wg) / wg_ns);
    return double(bytes_per_wg) * wgs / slowest;
  });
  return rates;
}

std::vector<int> first(int gpus) {
  std::vector<int> list;
  for (int r = 0; r < gpus; ++r) list.push_back(r);
  return list;
}

std::vector<int> one_or_all(int n) { return n == 1 ? std::vector<int>{1} : std::vector<int>{1, n}; }

// Returns the addresses that `rank` uses in the pools of the next `count` GPUs. Ranks that use the same pool use parts
// that are `vectors_per_sender` vectors apart.
Peers next_peers(const Collector& c, int rank, int count, int64_t vectors_per_sender) {
  Peers to{};
  to.count = count;
  for (int k = 0; k < count; ++k) to.base[k] = c.pool((rank + 1 + k) % c.gpus()) + int64_t(k) * vectors_per_sender;
  return to;
}

void bench_store(Collector& c) {
  for (const int wgs : {1, 2, 4, 8, 16, 32, 64, 132, 264, 528}) {
    for (const int chunk_bytes : {0, 512}) {
      const int64_t bytes = wg_bytes(wgs), vectors = bytes / 16;
      const int chunk = chunk_bytes > 0 ? chunk_bytes / 16 : int(vectors);
      // Chunks of 512 bytes are stored 4 KiB apart, as an All-to-All stores rows into a wider row-major matrix.
      const int stride = chunk_bytes > 0 ? chunk * 8 : chunk;
      const int64_t region = chunk_bytes > 0 ? vectors * 8 : vectors;
      for (const int peers : one_or_all(c.gpus() - 1)) {
        for (const int senders : one_or_all(c.gpus())) {
          const int per_peer = (wgs + peers - 1) / peers;
          if (region * 16 * per_peer * std::min(peers, senders) > kPoolBytes) continue;
          const Rates rates = measure(c, wgs, first(senders), bytes, [&](int r, int) {
            store_kernel<<<wgs, kThreads, 0, c.stream(r)>>>(next_peers(c, r, peers, region * per_peer), vectors, chunk,
                                                            stride, region, c.stamps(r));
          });
          const Parameters p = Parameters()("wgs", wgs)("peers", peers)("senders", senders)("chunk_bytes", chunk_bytes);
          c.row("peer_store", p, "bandwidth", rates.total, "GB/s");
          c.row("peer_store", p, "bandwidth_per_wg", rates.per_wg, "GB/s");
        }
      }
    }
  }
}

void bench_fan_in(Collector& c) {
  for (const int wgs : {8, 32, 132}) {
    for (int senders = 1; senders < c.gpus(); ++senders) {
      const int64_t bytes = wg_bytes(wgs), vectors = bytes / 16;
      std::vector<int> list;
      for (int r = 1; r <= senders; ++r) list.push_back(r);
      Rates rates = measure(c, wgs, list, bytes, [&](int r, int) {
        Peers to{};
        to.count = 1;
        to.base[0] = c.pool(0) + int64_t(r - 1) * vectors * wgs;
        store_kernel<<<wgs, kThreads, 0, c.stream(r)>>>(to, vectors, int(vectors), int(vectors), vectors, c.stamps(r));
      });
      for (double& rate : rates.total) rate *= senders;
      c.row("peer_fan_in", Parameters()("wgs", wgs)("senders", senders), "bandwidth", rates.total, "GB/s");
    }
  }
}

template <int kUnroll>
void bench_load_case(Collector& c, int wgs, int peers) {
  int occupancy = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy, load_kernel<kUnroll>, kThreads, 0));
  if (wgs > occupancy * c.sms()) return;
  const int64_t bytes = wg_bytes(wgs) / 2;
  const Rates rates = measure(c, wgs, {0}, bytes, [&](int, int i) {
    // Every repetition reads other addresses, so that the peer's L2 holds none of them.
    Peers from = next_peers(c, 0, peers, 0);
    const int64_t places = std::max<int64_t>(1, kPoolBytes / (bytes * wgs));
    for (int k = 0; k < peers; ++k) from.base[k] += i % places * (bytes * wgs / 16);
    load_kernel<kUnroll><<<wgs, kThreads, 0, c.stream(0)>>>(from, bytes / 16, c.sink(0), c.stamps(0));
  });
  const Parameters p = Parameters()("wgs", wgs)("peers", peers)("in_flight_bytes", kThreads * 16 * kUnroll);
  c.row("peer_load", p, "bandwidth", rates.total, "GB/s");
  c.row("peer_load", p, "bandwidth_per_wg", rates.per_wg, "GB/s");
}

void bench_load(Collector& c) {
  for (const int wgs : {1, 8, 32, 132, 528}) {
    for (const int peers : one_or_all(c.gpus() - 1)) {
      bench_load_case<1>(c, wgs, peers);
      bench_load_case<4>(c, wgs, peers);
      bench_load_case<8>(c, wgs, peers);
      bench_load_case<16>(c, wgs, peers);
    }
  }
}

template <int kUnroll>
void bench_copy_case(Collector& c, int wgs, int peers, int senders) {
  int occupancy = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occupancy, copy_kernel<kUnroll>, kThreads, 0));
  if (wgs > occupancy * c.sms()) return;
  const int64_t bytes = wg_bytes(wgs), vectors = bytes / 16;
  const int per_peer = (wgs + peers - 1) / peers;
  const Rates rates = measure(c, wgs, first(senders), bytes, [&](int r, int i) {
    // The sources are in the upper half of the pool. Every repetition reads other addresses, so that the L2 holds none
    // of them.
    const int64_t places = std::min<int64_t>(kWarmups + kRepetitions, kPoolBytes / 2 / (bytes * wgs));
    const float4* from = c.pool(r) + kPoolBytes / 32 + i % places * vectors * wgs;
    copy_kernel<kUnroll>
        <<<wgs, kThreads, 0, c.stream(r)>>>(from, next_peers(c, r, peers, vectors * per_peer), vectors, c.stamps(r));
  });
  const Parameters p =
      Parameters()("wgs", wgs)("peers", peers)("senders", senders)("in_flight_bytes", kThreads * 16 * kUnroll);
  c.row("peer_copy", p, "bandwidth", rates.total, "GB/s");
  c.row("peer_copy", p, "bandwidth_per_wg", rates.per_wg, "GB/s");
}

void bench_copy(Collector& c) {
  for (const int wgs : {1, 8, 32, 132, 264, 528}) {
    for (const int peers : one_or_all(c.gpus() - 1)) {
      for (const int senders : one_or_all(c.gpus())) {
        bench_copy_case<1>(c, wgs, peers, senders);
        bench_copy_case<4>(c, wgs, peers, senders);
        bench_copy_case<8>(c, wgs, peers, senders);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "peer", kPoolBytes);
  if (c.wants_peers("peer_store")) bench_store(c);
  if (c.wants_peers("peer_fan_in")) bench_fan_in(c);
  if (c.wants_peers("peer_load")) bench_load(c);
  if (c.wants_peers("peer_copy")) bench_copy(c);
  return 0;
}
