// Measures the clock of SMs that multiply matrices which the L2 holds, alone, beside SMs that read memory, and beside
// copy engines that send to another GPU or receive from it: the benchmark matrix_clock. Its clock is the highest that
// these powers allow, and not that of a launch: every timed kernel follows another one of the same kind.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "cuda_check.hpp"
#include "gemm.hpp"
#include "harness.hpp"
#include "kernels.hpp"
#include "tensor_map.hpp"

namespace {

constexpr int kRows = 11 * kTileRows, kColumns = 12 * kTileColumns, kDepth = 2048;  // 132 tiles, 18 MB of operands
constexpr int kReaderThreads = 512, kReaderShared = 200 << 10;  // one reading workgroup per SM, and no other
constexpr uint64_t kMicrosecond = 1000;
constexpr uint64_t kFirst = 1000 * kMicrosecond, kTimed = 4000 * kMicrosecond;  // of the two kernels

// Reads memory until *stop is set, or for `most_ns`.
__global__ void __launch_bounds__(kReaderThreads) read_kernel(const float4* from, int64_t vectors, uint64_t most_ns,
                                                              const volatile int* stop, float* sink, WgStamp* stamps) {
  constexpr int kUnroll = 8;
  const int64_t step = int64_t{gridDim.x} * kReaderThreads;
  const uint64_t begin = global_ns();
  int64_t at = int64_t{blockIdx.x} * kReaderThreads + threadIdx.x;
  uint64_t rounds = 0;
  float sum = 0;
  while (rounds % 8 != 0 || (global_ns() - begin < most_ns && *stop == 0)) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      piece[u] = load_streaming(from + at);
      at += step;
      if (at >= vectors) at -= vectors;
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sum += piece[u].x + piece[u].y + piece[u].z + piece[u].w;
    ++rounds;
  }
  if (sum == 1e30F) *sink = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    stamps[blockIdx.x] = {begin, global_ns(), rounds * kUnroll * kReaderThreads * sizeof(float4), sm_id(), 0};
}

struct Case {
  int multiplying, reading;
  bool sending = false, receiving = false;
  int64_t piece = 0;  // bytes of a copy
};

// Copies between GPU 0 and GPU 1 in pieces, for longer than the timed kernels take. Pieces that fill the pool come from
// memory and go to memory; small ones are the same bytes again and again, which the L2 holds.
class Copies {
 public:
  explicit Copies(Collector& c) : c_(c) {
    for (int gpu = 0; gpu < 2; ++gpu) {
      CUDA_CHECK(cudaSetDevice(gpu));
      CUDA_CHECK(cudaStreamCreateWithFlags(&stream_[gpu], cudaStreamNonBlocking));
      for (cudaEvent_t& event : event_[gpu]) CUDA_CHECK(cudaEventCreate(&event));
    }
    CUDA_CHECK(cudaSetDevice(0));
  }
  // The engine of GPU `from` pushes to the other GPU.
  void enqueue(int from, int64_t piece) {
    CUDA_CHECK(cudaSetDevice(from));
    CUDA_CHECK(cudaEventRecord(event_[from][0], stream_[from]));
    const int64_t offset = from == 0 ? 0 : kRoom, room = piece == kSmall ? piece : kRoom;
    for (int64_t at = 0; at + piece <= kCopied; at += piece) {
      char* const source = reinterpret_cast<char*>(c_.pool(from)) + offset + at % room;
      char* const target = reinterpret_cast<char*>(c_.pool(1 - from)) + offset + at % room;
      CUDA_CHECK(cudaMemcpyPeerAsync(target, 1 - from, source, from, size_t(piece), stream_[from]));
    }
    CUDA_CHECK(cudaEventRecord(event_[from][1], stream_[from]));
    CUDA_CHECK(cudaSetDevice(0));
  }
  // Waits for the copies of a GPU; returns their bytes per ns.
  double rate(int from) {
    CUDA_CHECK(cudaEventSynchronize(event_[from][1]));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, event_[from][0], event_[from][1]));
    return double(kCopied) / (1e6 * ms);
  }

  static constexpr int64_t kSmall = int64_t{8} << 20, kLarge = int64_t{64} << 20;

 private:
  static constexpr int64_t kRoom = int64_t{1} << 30, kCopied = int64_t{4608} << 20;
  Collector& c_;
  cudaStream_t stream_[2]{};
  cudaEvent_t event_[2][2]{};
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int64_t kPool = int64_t{2} << 30;
  Collector c(argc, argv, "flux_beside", kPool);
  if (!c.wants("matrix_clock")) return 0;
  prepare_kernels();
  CUDA_CHECK(cudaFuncSetAttribute(read_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kReaderShared));
  c.fill_pool(0, kPool);
  uint64_t* clock = nullptr;
  int* stop = nullptr;
  ComputeShape shape;
  shape.m = kRows;
  shape.n = kColumns;
  shape.k = kDepth;
  const Operands operands(1, {shape});
  CUDA_CHECK(cudaMallocHost(&clock, 2 * sizeof(uint64_t)));
  CUDA_CHECK(cudaMalloc(&stop, sizeof(int)));
  cudaStream_t beside;
  CUDA_CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
  GemmArguments args{};
  args.a = tensor_map(operands.a(0), kRows, kDepth, kDepth, kTileRows, kTileDepth);
  args.b = tensor_map(operands.b(0), kColumns, kDepth, kDepth, kTileColumns, kTileDepth);
  args.c[0] = tensor_map(operands.c(0), kRows, kColumns, kColumns, 64, 64);
  args.m = args.block_rows = kRows;
  args.n = kColumns;
  args.k = kDepth;
  args.ranks = 1;
  args.store_rows = 64;
  args.order = tile_order(kRows, kColumns, 1, 0);
  args.clock = clock;
  CUDA_CHECK(cudaDeviceSynchronize());

  constexpr double kTileFlop = 2.0 * kTileRows * kTileColumns * kDepth, kTileNs = 22e3;
  const int all = c.sms();
  std::vector<Case> cases = {{all, 0},       {all - 8, 0},   {all - 16, 0}, {all - 32, 0}, {all / 2, 0},
                             {all / 4, 0},   {8, 0},         {all - 8, 4},  {all - 8, 8},  {all - 16, 8},
                             {all - 16, 16}, {all - 32, 16}, {all - 32, 32}};
  std::unique_ptr<Copies> copies;
  if (c.gpus() > 1) {
    copies = std::make_unique<Copies>(c);
    for (const int64_t piece : {Copies::kSmall, Copies::kLarge}) {
      cases.push_back({all, 0, true, false, piece});
      cases.push_back({all, 0, false, true, piece});
      cases.push_back({all, 0, true, true, piece});
    }
  }
  for (const Case& one : cases) {
    std::vector<double> mhz, rate, bandwidth, copied;
    for (int r = 0; r < kWarmups + kRepetitions; ++r) {
      // Without a pause, the clock falls after 40 ms of matrix products.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CUDA_CHECK(cudaMemset(stop, 0, sizeof(int)));
      CUDA_CHECK(cudaDeviceSynchronize());
      if (one.sending) copies->enqueue(0, one.piece);
      if (one.receiving) copies->enqueue(1, one.piece);
      if (one.reading > 0) {
        read_kernel<<<one.reading, kReaderThreads, kReaderShared, beside>>>(c.pool(0), kPool / 16, 10 * kTimed, stop,
                                                                            c.sink(0), c.stamps(0));
        CUDA_CHECK(cudaGetLastError());
      }
      int tiles = 0;
      for (const uint64_t ns : {kFirst, kTimed}) {
        args.repeats = std::max(1, int(double(ns) / kTileNs * one.multiplying / args.order.tiles()));
        tiles = args.order.tiles() * args.repeats;
        launch_gemm(Way::local, false, args, one.multiplying, c.stream(0));
      }
      CUDA_CHECK(cudaMemsetAsync(stop, 1, sizeof(int), c.stream(0)));
      CUDA_CHECK(cudaDeviceSynchronize());
      const double sent = one.sending ? copies->rate(0) : 0, received = one.receiving ? copies->rate(1) : 0;
      if (r < kWarmups) continue;
      copied.push_back(sent + received);
      const double ns = double(clock[1]);
      mhz.push_back(1e3 * double(clock[0]) / ns);
      rate.push_back(std::ceil(double(tiles) / one.multiplying) * kTileFlop / ns);
      double bytes_per_ns = 0;
      if (one.reading > 0) {
        for (const WgStamp& s : c.read(0, one.reading)) bytes_per_ns += double(s.bytes) / double(s.end_ns - s.start_ns);
      }
      bandwidth.push_back(bytes_per_ns);
    }
    Parameters p = Parameters()("sms", one.multiplying)("readers", one.reading);
    if (one.piece > 0) p = p("sending", one.sending)("receiving", one.receiving)("piece_bytes", one.piece);
    c.row("matrix_clock", p, "clock", mhz, "MHz");
    c.row("matrix_clock", p, "flops_per_sm", rate, "GFLOP/s");
    if (one.reading > 0) c.row("matrix_clock", p, "bandwidth", bandwidth, "GB/s");
    if (one.piece > 0) c.row("matrix_clock", p, "copied", copied, "GB/s");
  }
  return 0;
}
