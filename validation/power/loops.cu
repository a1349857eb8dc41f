// Over 400 lines: the loops of one operation, of one operation and a pause, and of several operations are tables, each
// of which shows the loops' names beside their work.
//
// Runs loops of one operation on all GPUs at the same time, each for seconds. Records the time of an iteration, and the
// SM clock, power, temperature and energy of each GPU during the loop. Writes two tables: OUT (one row per sample) and
// OUT.iterations (one row per batch of iterations). With --loops mixtures, loops consist of several operations, with
// --loops pauses of a matrix product and a pause. Moire's model of power is fitted to the loops of one operation and
// tested with the mixtures.
#include <cuda_fp16.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "cast.hpp"
#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "gpu_info.hpp"
#include "harness.hpp"
#include "provenance.hpp"
#include "shapes.hpp"
#include "stream.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// --- Kernels, each of which does one kind of work on every SM

constexpr int kLoopThreads = 256;

__global__ void __launch_bounds__(kLoopThreads) multiply_add(float* out, float x, int rounds) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = x + float(threadIdx.x * 8 + i) * 1.1e-3f;
  for (int r = 0; r < rounds; ++r)
    for (int i = 0; i < 8; ++i) a[i] = fmaf(a[i], 0.99999f, x);
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  if (sum == 12345.678f) *out = sum;
}

__global__ void __launch_bounds__(kLoopThreads)
    read_again(const float4* from, int64_t vectors, int rounds, float* out) {
  float sum = 0;
  const int64_t stride = int64_t{gridDim.x} * kLoopThreads;
  for (int r = 0; r < rounds; ++r)
    for (int64_t at = int64_t{blockIdx.x} * kLoopThreads + threadIdx.x; at < vectors; at += stride) {
      const float4 v = __ldcg(from + at);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 12345.678f) *out = sum;
}

__global__ void store_to_peer(const float4* from, float4* to, int64_t vectors) {
  const int64_t stride = int64_t{gridDim.x} * kLoopThreads;
  for (int64_t at = int64_t{blockIdx.x} * kLoopThreads + threadIdx.x; at < vectors; at += stride) to[at] = from[at];
}

__global__ void hold(uint64_t cycles, bool asleep) {
  const uint64_t begin = clock64();
  while (uint64_t(clock64()) - begin < cycles)
    if (asleep) __nanosleep(1000);
}

// Reads memory. A workgroup of 1,024 threads occupies at least half of an SM. Each thread loads four vectors at a time
// and waits for them.
constexpr int kReaderThreads = 1024;
constexpr int kReaderBatch = 4;
__global__ void __launch_bounds__(kReaderThreads) read_batches(const float4* from, int64_t batches, float* out) {
  float sum = 0;
  for (int64_t b = blockIdx.x; b < batches; b += gridDim.x) {
    const float4* at = from + b * kReaderBatch * kReaderThreads + threadIdx.x;
    float4 v[kReaderBatch];
#pragma unroll
    for (int i = 0; i < kReaderBatch; ++i) v[i] = __ldcs(at + i * kReaderThreads);
#pragma unroll
    for (int i = 0; i < kReaderBatch; ++i) sum += v[i].x + v[i].y + v[i].z + v[i].w;
  }
  if (sum == 12345.678f) *out = sum;
}

__global__ void wait_a_while(uint64_t ns) {
  const uint64_t begin = global_ns();
  while (global_ns() - begin < ns) {
  }
}

// Converts `count` normally distributed bf16 numbers to fp16, in place.
__global__ void halve(uint16_t* words, int64_t count) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    // The upper seven bits of the fraction are already random. The lower three bits, which bf16 does not have, are a
    // hash of the element's value and index.
    const uint32_t low = (words[i] * 2654435761U >> 20 ^ uint32_t(i) * 40503U >> 7) & 7;
    const __half value = __float2half(__uint_as_float(uint32_t(words[i]) << 16));
    words[i] = uint16_t(__half_as_ushort(value) | low);
  }
}

class Each final : public Work {
 public:
  explicit Each(std::function<void(int, cudaStream_t)> one) : one_(std::move(one)) {}
  void enqueue(const std::vector<cudaStream_t>& streams) override {
    for (size_t gpu = 0; gpu < streams.size(); ++gpu) {
      CUDA_CHECK(cudaSetDevice(int(gpu)));
      one_(int(gpu), streams[gpu]);
      CUDA_CHECK(cudaGetLastError());
    }
  }

 private:
  std::function<void(int, cudaStream_t)> one_;
};

// Runs several works one after the other on the same stream.
class InTurn final : public Work {
 public:
  explicit InTurn(std::vector<Work*> works) : works_(std::move(works)) {}
  void enqueue(const std::vector<cudaStream_t>& streams) override {
    for (Work* work : works_) work->enqueue(streams);
  }

 private:
  std::vector<Work*> works_;
};

// Runs two works at the same time. The second one starts 10 us after the first; the next iteration waits for both.
class Beside final : public Work {
 public:
  Beside(int gpus, Work* first, Work* second) : first_(first), second_(second) {
    gpu_.resize(size_t(gpus));
    int least = 0, greatest = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      CUDA_CHECK(cudaSetDevice(gpu));
      CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
      Gpu& own = gpu_[size_t(gpu)];
      CUDA_CHECK(cudaStreamCreateWithPriority(&own.stream, cudaStreamNonBlocking, least));
      CUDA_CHECK(cudaEventCreateWithFlags(&own.fork, cudaEventDisableTiming));
      CUDA_CHECK(cudaEventCreateWithFlags(&own.join, cudaEventDisableTiming));
    }
  }
  void enqueue(const std::vector<cudaStream_t>& streams) override {
    std::vector<cudaStream_t> beside;
    for (size_t gpu = 0; gpu < streams.size(); ++gpu) {
      CUDA_CHECK(cudaSetDevice(int(gpu)));
      CUDA_CHECK(cudaEventRecord(gpu_[gpu].fork, streams[gpu]));
      CUDA_CHECK(cudaStreamWaitEvent(gpu_[gpu].stream, gpu_[gpu].fork, 0));
      wait_a_while<<<1, 1, 0, gpu_[gpu].stream>>>(10000);
      beside.push_back(gpu_[gpu].stream);
    }
    first_->enqueue(streams);
    second_->enqueue(beside);
    for (size_t gpu = 0; gpu < streams.size(); ++gpu) {
      CUDA_CHECK(cudaSetDevice(int(gpu)));
      CUDA_CHECK(cudaEventRecord(gpu_[gpu].join, gpu_[gpu].stream));
      CUDA_CHECK(cudaStreamWaitEvent(streams[gpu], gpu_[gpu].join, 0));
    }
  }

 private:
  struct Gpu {
    cudaStream_t stream = nullptr;
    cudaEvent_t fork = nullptr, join = nullptr;
  };
  Work* first_;
  Work* second_;
  std::vector<Gpu> gpu_;
};

// Kernels that use one unit of every SM, and that both single loops and mixtures run.
struct UnitKernels {
  explicit UnitKernels(Collector& c)
      : fma([&c](int gpu, cudaStream_t s) {
          multiply_add<<<c.sms() * 8, kLoopThreads, 0, s>>>(c.sink(gpu), 1.37f, 20000);
        }),
        read_hbm([&c](int gpu, cudaStream_t s) {
          read_again<<<c.sms() * 8, kLoopThreads, 0, s>>>(c.pool(gpu), (int64_t{1} << 30) / 16, 1, c.sink(gpu));
        }),
        read_l2([&c](int gpu, cudaStream_t s) {
          read_again<<<c.sms() * 8, kLoopThreads, 0, s>>>(c.pool(gpu), (int64_t{16} << 20) / 16, 60, c.sink(gpu));
        }) {}
  Each fma, read_hbm, read_l2;
};

struct Loop {
  std::string name;
  Work* work;
  double seconds = 2.5;
  double on_ms = 0, off_ms = 0;  // if off_ms is above 0: the loop runs for on_ms, pauses for off_ms, and so on
};

class Bench {
 public:
  Bench(Collector& c, std::FILE* iterations) : c_(c), iterations_(iterations) {
    streams_.resize(size_t(c.gpus()));
    for (int gpu = 0; gpu < c.gpus(); ++gpu) {
      CUDA_CHECK(cudaSetDevice(gpu));
      CUDA_CHECK(cudaStreamCreateWithFlags(&streams_[size_t(gpu)], cudaStreamNonBlocking));
    }
  }

  void run(const Loop& loop) {
    const double us = one(loop);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // lets the GPU cool, and its clock recover
    begin_ = Clock::now();
    std::atomic<bool> ended{false};
    std::thread sampler([&] {
      while (!ended) {
        for (int gpu = 0; gpu < c_.gpus(); ++gpu) sample(loop.name, gpu);
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // samples of the idle GPU, whose times are negative
    start_ms_ = ms_since(begin_);
    for (auto& batch : marks_) batch.clear();
    mark(0);
    bool paused = false;
    while (ms_since(begin_) - start_ms_ < loop.seconds * 1e3) {
      const double at = ms_since(begin_) - start_ms_;
      if (loop.off_ms > 0 && std::fmod(at, loop.on_ms + loop.off_ms) >= loop.on_ms) {
        drain(0);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        paused = true;
        continue;
      }
      if (std::exchange(paused, false)) mark(0);  // the next batch is timed from this mark
      const double wanted_us = at < 60 ? 500 : 5000;
      const int times = std::max(1, int(wanted_us / us));
      for (int i = 0; i < times; ++i) loop.work->enqueue(streams_);
      mark(times);
      drain(4);
    }
    drain(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ended = true;
    sampler.join();
    write(loop.name);
    std::fprintf(stderr, "power: %s: %.1f us\n", loop.name.c_str(), us);
  }

 private:
  struct Mark {
    cudaEvent_t event = nullptr;
    int times = 0;
  };

  double one(const Loop& loop) {
    loop.work->enqueue(streams_);
    synchronise();
    const auto begin = Clock::now();
    for (int i = 0; i < 3; ++i) loop.work->enqueue(streams_);
    synchronise();
    return ms_since(begin) * 1e3 / 3;
  }
  void synchronise() {
    for (int gpu = 0; gpu < c_.gpus(); ++gpu) {
      CUDA_CHECK(cudaSetDevice(gpu));
      CUDA_CHECK(cudaStreamSynchronize(streams_[size_t(gpu)]));
    }
  }
  void mark(int times) {
    if (marks_.empty()) marks_.resize(streams_.size());
    for (size_t gpu = 0; gpu < streams_.size(); ++gpu) {
      CUDA_CHECK(cudaSetDevice(int(gpu)));
      Mark made;
      CUDA_CHECK(cudaEventCreate(&made.event));
      CUDA_CHECK(cudaEventRecord(made.event, streams_[gpu]));
      made.times = times;
      marks_[gpu].push_back(made);
    }
    ++pending_;
  }
  // Waits until the GPUs have at most `most` batches still to run.
  void drain(size_t most) {
    while (pending_ > most) {
      const size_t at = marks_.front().size() - pending_;
      for (size_t gpu = 0; gpu < streams_.size(); ++gpu) CUDA_CHECK(cudaEventSynchronize(marks_[gpu][at].event));
      --pending_;
    }
  }
  void sample(const std::string& name, int gpu) {
    const GpuPower p = gpu_power(gpu);
    std::fprintf(c_.file(), "%s,%d,%.2f,%.0f,%.1f,%.1f,%.0f,%.3f\n", name.c_str(), gpu, ms_since(begin_) - 300,
                 p.sm_mhz, p.watt, p.watt_instant, p.celsius, p.joule);
  }
  void write(const std::string& name) {
    for (size_t gpu = 0; gpu < streams_.size(); ++gpu) {
      for (size_t i = 1; i < marks_[gpu].size(); ++i) {
        if (marks_[gpu][i].times == 0) continue;
        float since = 0, took = 0;
        CUDA_CHECK(cudaEventElapsedTime(&since, marks_[gpu][0].event, marks_[gpu][i].event));
        CUDA_CHECK(cudaEventElapsedTime(&took, marks_[gpu][i - 1].event, marks_[gpu][i].event));
        std::fprintf(iterations_, "%s,%zu,%.3f,%d,%.3f\n", name.c_str(), gpu, double(since), marks_[gpu][i].times,
                     double(took) * 1e3 / marks_[gpu][i].times);
      }
      for (Mark& m : marks_[gpu]) CUDA_CHECK(cudaEventDestroy(m.event));
      marks_[gpu].clear();
    }
    std::fflush(iterations_);
    std::fflush(c_.file());
  }

  Collector& c_;
  std::FILE* iterations_;
  std::vector<cudaStream_t> streams_;
  std::vector<std::deque<Mark>> marks_;
  size_t pending_ = 0;
  Clock::time_point begin_;
  double start_ms_ = 0;
};

ComputeShape fp16_shape(int m, int n, int k) {
  ComputeShape shape = gemm_shape(m, n, k);
  shape.fp16 = true;
  return shape;
}

// Measures loops of several operations. They test Moire's model of power, which is fitted to the loops of single
// operations.
void measure_mixtures(Collector& c, std::FILE* iterations) {
  ComputeShape largest;
  largest.name = "stream";
  largest.stream_bytes = int64_t{1} << 30;
  const std::vector<ComputeShape> shapes = {gemm_shape(8192, 8192, 8192),   gemm_shape(4096, 8192, 8192),
                                            gemm_shape(4096, 4096, 4096),   gemm_shape(8192, 8192, 512),
                                            gemm_shape(4096, 14336, 4096),  gemm_shape(1024, 8192, 8192),
                                            gemm_shape(16384, 16384, 2048), largest};
  const Operands operands(c.gpus(), shapes);
  const auto gemm = [&](size_t shape, int sms = 0) { return Gemm::create(operands, shapes[shape], sms); };
  const auto large = gemm(0), tall = gemm(1), middle = gemm(2), shallow = gemm(3), layer = gemm(4), flat = gemm(5),
             wide = gemm(6), fewer = gemm(0, 116);
  const auto half = Gemm::create(operands, fp16_shape(8192, 8192, 8192), 0);
  StreamShape gib;
  gib.bytes = int64_t{1} << 30;
  gib.sms = c.sms();
  const auto stream = make_stream(operands, gib);
  Each reader([&](int gpu, cudaStream_t s) {
    read_batches<<<16, kReaderThreads, 0, s>>>(
        c.pool(gpu), (int64_t{1} << 30) / (kReaderBatch * kReaderThreads * int64_t{sizeof(float4)}), c.sink(gpu));
  });
  const CollectiveMemory memory(c.gpus(), int64_t{256} << 20);
  const std::unique_ptr<NcclGroup> group = c.gpus() > 1 ? NcclGroup::create(c.gpus(), 0) : nullptr;
  const CopyLanes lanes(c.gpus());
  std::vector<std::unique_ptr<Work>> made;
  const auto keep = [&](std::unique_ptr<Work> work) { return made.emplace_back(std::move(work)).get(); };
  const auto turns = [&](std::vector<Work*> works) { return keep(std::make_unique<InTurn>(std::move(works))); };
  const auto beside = [&](Work* first, Work* second) {
    return keep(std::make_unique<Beside>(c.gpus(), first, second));
  };

  Bench bench(c, iterations);
  bench.run({"gemm_8192x8192x512", shallow.get()});
  bench.run({"gemm_4096x14336x4096", layer.get()});
  bench.run({"gemm_1024x8192x8192", flat.get()});
  bench.run({"gemm_16384x16384x2048", wide.get()});
  Work* const g = large.get();
  Work* const s = stream.get();
  bench.run({"gemm_stream_1_1", turns({g, s})});
  bench.run({"gemm_stream_1_3", turns({g, s, s, s})});
  bench.run({"gemm_stream_1_8", turns({g, s, s, s, s, s, s, s, s})});
  bench.run({"gemm_beside_read", beside(&reader, fewer.get())});
  if (group != nullptr) {
    const auto collective = [&](Kind kind, int64_t mib) { return keep(group->collective(memory, kind, mib << 20)); };
    bench.run({"gemm_beside_all_reduce_64", beside(g, collective(Kind::all_reduce, 64))});
    bench.run({"gemm_beside_all_reduce_256", beside(g, collective(Kind::all_reduce, 256))});
    bench.run({"gemm_beside_all_to_all_256", beside(g, collective(Kind::all_to_all, 256))});
    bench.run({"gemm_4096x8192x8192_beside_all_gather_64", beside(tall.get(), collective(Kind::all_gather, 64))});
    bench.run({"gemm_4096_beside_all_reduce_16", beside(middle.get(), collective(Kind::all_reduce, 16))});
    bench.run({"gemm_then_all_reduce_256", turns({g, collective(Kind::all_reduce, 256)})});
    bench.run({"gemm_beside_copies_256",
               beside(g, keep(make_copies(memory, lanes, {Kind::all_gather, int64_t{256} << 20, c.gpus()}, 1)))});
    bench.run({"stream_beside_all_reduce_64", beside(collective(Kind::all_reduce, 64), s)});
  }
  for (int gpu = 0; gpu < c.gpus(); ++gpu) {
    CUDA_CHECK(cudaSetDevice(gpu));
    for (void* words : {operands.a(gpu), operands.b(gpu)})
      halve<<<1024, 256>>>(static_cast<uint16_t*>(words), int64_t{8192} * 8192);
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  bench.run({"gemm_8192_fp16", half.get()});
}

// Measures further loops of several operations on each GPU by itself, which were predicted with the voltage that pauses
// have shown.
void measure_more_mixtures(Collector& c, std::FILE* iterations) {
  ComputeShape largest;
  largest.name = "stream";
  largest.stream_bytes = int64_t{1} << 30;
  const std::vector<ComputeShape> shapes = {gemm_shape(8192, 8192, 8192),
                                            gemm_shape(6144, 6144, 6144),
                                            gemm_shape(4096, 4096, 4096),
                                            gemm_shape(4096, 4096, 16384),
                                            gemm_shape(8192, 8192, 2048),
                                            gemm_shape(2048, 8192, 8192),
                                            largest};
  const Operands operands(c.gpus(), shapes);
  std::vector<std::unique_ptr<Gemm>> gemms;
  for (size_t i = 0; i + 1 < shapes.size(); ++i) gemms.push_back(Gemm::create(operands, shapes[i], 0));
  const auto fewer = Gemm::create(operands, shapes[0], 124);
  const auto stream = [&](int64_t mib) {
    StreamShape s;
    s.bytes = mib << 20;
    s.sms = c.sms();
    return make_stream(operands, s);
  };
  const auto gib = stream(1024), half = stream(512), quarter = stream(256);
  UnitKernels kernels(c);
  Each reader([&](int gpu, cudaStream_t s) {
    read_batches<<<8, kReaderThreads, 0, s>>>(
        c.pool(gpu), (int64_t{512} << 20) / (kReaderBatch * kReaderThreads * int64_t{sizeof(float4)}), c.sink(gpu));
  });
  Bench bench(c, iterations);
  const auto run = [&](const std::string& name, std::vector<Work*> works) {
    InTurn turns(std::move(works));
    bench.run({name, &turns});
  };
  Work *const large = gemms[0].get(), *const middle = gemms[2].get();
  run("gemm_6144", {gemms[1].get()});
  run("gemm_4096x4096x16384", {gemms[3].get()});
  run("gemm_8192x8192x2048", {gemms[4].get()});
  run("gemm_2048x8192x8192", {gemms[5].get()});
  run("gemm_stream_2_1", {large, large, gib.get()});
  run("gemm_4096_stream_256", {middle, quarter.get()});
  run("gemm_2048x8192x8192_stream_512", {gemms[5].get(), half.get()});
  run("gemm_4096_read_hbm", {middle, &kernels.read_hbm});
  run("gemm_4096_twice_read_l2", {middle, middle, &kernels.read_l2});
  run("gemm_6144_fma", {gemms[1].get(), &kernels.fma});
  Beside both(c.gpus(), &reader, fewer.get());
  bench.run({"gemm_beside_few_reads", &both});
}

// Measures loops of a matrix product and a pause, during which the GPU is idle. Pauses lower the mean power, so the
// controllers leave the product a higher clock.
void measure_pauses(Collector& c, std::FILE* iterations) {
  const std::vector<ComputeShape> shapes = {gemm_shape(8192, 8192, 8192), gemm_shape(4096, 4096, 4096)};
  const Operands operands(c.gpus(), shapes);
  const auto large = Gemm::create(operands, shapes[0], 0), middle = Gemm::create(operands, shapes[1], 0);
  Bench bench(c, iterations);
  const auto run = [&](const std::string& name, Work* gemm, const std::vector<int>& pauses_us) {
    for (const int us : pauses_us) {
      Each pause([&](int, cudaStream_t s) { wait_a_while<<<1, 1, 0, s>>>(uint64_t(us) * 1000); });
      InTurn both({gemm, &pause});
      bench.run({name + "_pause_" + std::to_string(us), &both});
    }
  };
  run("gemm_8192_normal", large.get(), {5, 100, 200, 400, 800, 1600});
  run("gemm_4096_normal", middle.get(), {5, 25, 100, 200});
  fill(operands, int64_t{8192} * 8192 * 2, 0x0000);
  run("gemm_8192_zeros", large.get(), {5, 50, 100, 200, 300, 400});
  run("gemm_4096_zeros", middle.get(), {5, 10, 25, 50});
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "power", int64_t{2} << 30);
  NcclGroup::configure(false);
  const std::string part = c.option("--loops", "loops");
  const std::string command = "validation/power/run.sh --gpus " + std::to_string(c.gpus()) + " --only " + part;
  std::FILE* iterations = std::fopen((c.option("--out", "power.csv") + ".iterations").c_str(), "w");
  if (iterations == nullptr) return 2;
  write_provenance(c.file(), c.gpus(), command);
  write_provenance(iterations, c.gpus(), command);
  std::fprintf(c.file(), "loop,gpu,t_ms,sm_mhz,watt,watt_instant,celsius,joule\n");
  std::fprintf(iterations, "loop,gpu,t_ms,iterations,us\n");

  if (part != "loops") {
    (part == "mixtures"        ? measure_mixtures
     : part == "more_mixtures" ? measure_more_mixtures
                               : measure_pauses)(c, iterations);
    std::fclose(iterations);
    return 0;
  }
  const int64_t square = int64_t{8192} * 8192 * 2;
  ComputeShape largest;
  largest.name = "stream";
  largest.stream_bytes = int64_t{1} << 30;
  const std::vector<ComputeShape> shapes = {gemm_shape(8192, 8192, 8192), gemm_shape(4096, 4096, 4096),
                                            gemm_shape(2048, 2048, 2048), gemm_shape(16384, 8192, 1024), largest};
  const Operands operands(c.gpus(), shapes);
  std::vector<std::unique_ptr<Gemm>> gemms;
  for (size_t i = 0; i + 1 < shapes.size(); ++i) gemms.push_back(Gemm::create(operands, shapes[i], 0));
  const auto stream = [&](int64_t bytes, int inputs) {
    StreamShape s;
    s.inputs = inputs;
    s.bytes = bytes;
    s.sms = c.sms();
    return make_stream(operands, s);
  };
  const auto stream_large = stream(int64_t{1} << 30, 1), stream_cached = stream(int64_t{8} << 20, 1);
  const int blocks = c.sms() * 8;
  UnitKernels kernels(c);
  Each peer([&](int gpu, cudaStream_t s) {
    store_to_peer<<<blocks, kLoopThreads, 0, s>>>(c.pool(gpu), c.pool((gpu + 1) % c.gpus()) + (int64_t{1} << 30) / 16,
                                                  (int64_t{256} << 20) / 16);
  });
  Each peer_copy([&](int gpu, cudaStream_t s) {
    const int to = (gpu + 1) % c.gpus();
    CUDA_CHECK(cudaMemcpyPeerAsync(c.pool(to) + (int64_t{1} << 30) / 16, to, c.pool(gpu), gpu, size_t{256} << 20, s));
  });
  Each awake([&](int, cudaStream_t s) { hold<<<c.sms(), 128, 0, s>>>(4000000, false); });
  Each asleep([&](int, cudaStream_t s) { hold<<<c.sms(), 128, 0, s>>>(4000000, true); });

  const CollectiveMemory memory(c.gpus(), int64_t{64} << 20);
  const std::unique_ptr<NcclGroup> group = c.gpus() > 1 ? NcclGroup::create(c.gpus(), 0) : nullptr;
  std::vector<std::unique_ptr<Collective>> collectives;
  if (group != nullptr)
    for (const Kind kind : {Kind::all_reduce, Kind::all_gather})
      collectives.push_back(group->collective(memory, kind, int64_t{64} << 20));

  Bench bench(c, iterations);
  bench.run({"hold_asleep", &asleep});
  bench.run({"hold_awake", &awake});
  bench.run({"stream_1gib", stream_large.get()});
  bench.run({"stream_8mib", stream_cached.get()});
  bench.run({"read_hbm", &kernels.read_hbm});
  bench.run({"read_l2", &kernels.read_l2});
  bench.run({"fma_fp32", &kernels.fma});
  if (c.gpus() > 1) {
    bench.run({"peer_store", &peer});
    bench.run({"peer_copy", &peer_copy});
    bench.run({"all_reduce_64mib", collectives[0].get()});
    bench.run({"all_gather_64mib", collectives[1].get()});
  }
  bench.run({"gemm_2048_normal", gemms[2].get()});
  bench.run({"gemm_4096_normal", gemms[1].get()});
  bench.run({"gemm_16384x8192x1024_normal", gemms[3].get()});
  bench.run({"gemm_8192_normal", gemms[0].get()});
  bench.run({"gemm_8192_normal_half", gemms[0].get(), 2.5, 10, 10});
  bench.run({"gemm_8192_normal_quarter", gemms[0].get(), 2.5, 10, 30});
  bench.run({"gemm_8192_normal_pulses", gemms[0].get(), 3, 200, 200});
  bench.run({"gemm_8192_normal_long", gemms[0].get(), 15});
  fill(operands, square, 0x0000);
  bench.run({"gemm_8192_zeros", gemms[0].get()});
  fill(operands, square, 0x3f80);  // 1
  bench.run({"gemm_8192_ones", gemms[0].get()});
  fill(operands, square, 0x3eab);  // 1/3 in bf16; its fraction has ones and zeros, unlike that of 1
  bench.run({"gemm_8192_thirds", gemms[0].get()});
  std::fclose(iterations);
  return 0;
}
