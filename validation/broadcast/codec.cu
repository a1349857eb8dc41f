// Times codecs on one GPU: single calls of several sizes and rates, several calls at the same time, and calls beside a
// GEMM. Also measures how long a call takes on the host.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "codec.hpp"
#include "cuda_check.hpp"
#include "evict_l2.hpp"
#include "gate.hpp"
#include "gemm.hpp"
#include "gpu_info.hpp"
#include "harness.hpp"
#include "provenance.hpp"
#include "statistics.hpp"
#include "weights.cuh"

namespace {

constexpr int64_t kKib = 1024, kMib = 1024 * kKib;
constexpr int64_t kMost = 256 * kMib;  // plain bytes of a run
constexpr int kLanes = 8;
constexpr uint64_t kHoldNs = 10'000;  // delay of the second release
constexpr int kWarmUps = 2;

// Writes `count` pseudo-random values. `value_bytes` is 4 for fp32 and 2 for bf16; a bf16 value is the upper half of
// the fp32 value.
__global__ void fill_weights(void* out, int64_t count, int value_bytes, uint32_t seed) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const float value = normal(uint64_t(i), seed);
    if (value_bytes == 4)
      static_cast<float*>(out)[i] = value;
    else
      static_cast<uint16_t*>(out)[i] = uint16_t(__float_as_uint(value) >> 16);
  }
}

// Finds the largest difference (most[0]), the largest value (most[1]) and the sum of the squared differences. `most`
// holds the bits of floats, because the bits of positive floats sort like the numbers.
__global__ void compare(const void* a, const void* b, int64_t count, int value_bytes, unsigned* most, double* squares) {
  float difference = 0, largest = 0;
  double square = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const float x = value_bytes == 4 ? static_cast<const float*>(a)[i]
                                     : __uint_as_float(uint32_t(static_cast<const uint16_t*>(a)[i]) << 16);
    const float y = value_bytes == 4 ? static_cast<const float*>(b)[i]
                                     : __uint_as_float(uint32_t(static_cast<const uint16_t*>(b)[i]) << 16);
    const float d = isfinite(y) ? fabsf(x - y) : INFINITY;
    difference = fmaxf(difference, d);
    largest = fmaxf(largest, fabsf(x));
    square += double(d) * d;
  }
  atomicMax(most, __float_as_uint(difference));
  atomicMax(most + 1, __float_as_uint(largest));
  atomicAdd(squares, square);
}

__global__ void hold(uint64_t ns) {
  const uint64_t end = global_ns() + ns;
  while (global_ns() < end) {
  }
}

enum class Operation { compress, decompress, reduce };
const char* const kNames[] = {"compress", "decompress", "decompress_reduce_compress"};

// The work of one lane (a stream) in a run. All lanes of a run begin together.
struct Part {
  Operation work;
  std::string codec;  // name in Bench::codecs
  int64_t bytes;
};
struct Case {
  std::string kind;  // alone, streams, beside
  std::vector<Part> parts;
  const ComputeShape* shape = nullptr;  // of the GEMM that runs beside the codecs
  Gemm* gemm = nullptr;
  bool gemm_first = true;
  std::vector<double> whole, codec_end, gemm_end;
};

class Bench {
 public:
  explicit Bench(int sms) : sms_(sms) {
    CUDA_CHECK(cudaHostAlloc(&host_, 128, cudaHostAllocMapped));
    std::memset(host_, 0, 128);
    CUDA_CHECK(cudaMalloc(&words_, 256));
    CUDA_CHECK(cudaMemset(words_, 0, 256));
    CUDA_CHECK(cudaMalloc(&flush_, kFlushBytes));
    CUDA_CHECK(cudaMemset(flush_, 0, kFlushBytes));
    CUDA_CHECK(cudaStreamCreateWithFlags(&gate_, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreateWithFlags(&released_, cudaEventDisableTiming));
    for (Lane& lane : lanes_) {
      CUDA_CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
      CUDA_CHECK(cudaEventCreate(&lane.begin));
      CUDA_CHECK(cudaEventCreate(&lane.end));
    }
    for (char** memory : {&plain_, &own_, &coded_, &sum_}) CUDA_CHECK(cudaMalloc(memory, size_t(2 * kMost)));
    CUDA_CHECK(cudaMalloc(&most_, 2 * sizeof(unsigned)));
    CUDA_CHECK(cudaMalloc(&squares_, sizeof(double)));
    fill(4);
    // CUDA loads a kernel at its first launch. This must not happen while a gate holds the GPU, so this class's own
    // kernels run once now.
    *static_cast<volatile uint32_t*>(host_) = ++epoch_;
    open_gate();
    hold<<<1, 1, 0, gate_>>>(0);
    compare<<<1, 32>>>(plain_, plain_, 32, 4, most_, squares_);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  std::map<std::string, std::vector<std::unique_ptr<Codec>>> codecs;  // one for each lane that uses it

  void fill(int value_bytes) {
    if (filled_ == value_bytes) return;
    filled_ = value_bytes;
    fill_weights<<<1024, 256>>>(plain_, 2 * kMost / value_bytes, value_bytes, 1);
    fill_weights<<<1024, 256>>>(own_, 2 * kMost / value_bytes, value_bytes, 2);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  // Compresses and decompresses `bytes` of data. Sets `ratio` (input bytes over coded bytes), and the largest and the
  // rms error (`worst`, `rms`), both divided by the largest value. Ends the program if `worst` is too large.
  void check(const std::string& name, int64_t bytes, double& ratio, double& worst, double& rms) {
    Codec& codec = *codecs[name][0];
    fill(codec.value_bytes());
    const cudaStream_t stream = lanes_[0].stream;
    CUDA_CHECK(cudaMemset(sum_, 0xff, size_t(bytes)));
    CUDA_CHECK(cudaDeviceSynchronize());
    codec.compress(plain_, coded_, bytes, stream);
    ratio = double(bytes) / double(codec.size(bytes, stream));
    codec.decompress(coded_, sum_, bytes, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    const int64_t count = bytes / codec.value_bytes();
    unsigned zero[2] = {0, 0};
    const double none = 0;
    CUDA_CHECK(cudaMemcpy(most_, zero, sizeof zero, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(squares_, &none, sizeof none, cudaMemcpyHostToDevice));
    compare<<<1024, 256>>>(plain_, sum_, count, codec.value_bytes(), most_, squares_);
    float most[2];
    double squares = 0;
    CUDA_CHECK(cudaMemcpy(most, most_, sizeof most, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(&squares, squares_, sizeof squares, cudaMemcpyDeviceToHost));
    worst = double(most[0]) / double(most[1]);
    rms = std::sqrt(squares / double(count)) / double(most[1]);
    // With fewer than 8 bits per fp32 value (ratio above 4), ZFP keeps little more than a block's exponent, so the
    // error is not checked.
    if (!std::isfinite(worst) || (codec.lossless() ? worst > 0 : ratio <= 4 && worst >= 1)) {
      std::fprintf(stderr, "codec: %s of %lld B loses %g of the largest value\n", name.c_str(),
                   static_cast<long long>(bytes), worst);
      std::exit(1);
    }
  }

  // Runs a case. Sets `codec_us` and `gemm_us` to the times in us from the release of the first lane until the last
  // codec and the GEMM have ended.
  void run(const Case& one, double& codec_us, double& gemm_us) {
    for (size_t i = 0; i < one.parts.size(); ++i) {
      Codec& codec = *codecs[one.parts[i].codec][i];
      fill(codec.value_bytes());
      if (one.parts[i].work != Operation::compress)
        codec.compress(at(plain_, i), at(coded_, i), one.parts[i].bytes, gate_);
    }
    ++epoch_;
    open_gate();
    const size_t lanes = one.parts.size() + (one.gemm ? 1 : 0);
    for (size_t i = 0; i < lanes; ++i) {
      const Lane& lane = lanes_[i];
      CUDA_CHECK(cudaStreamWaitEvent(lane.stream, released_, 0));
      const bool is_gemm = i == one.parts.size();
      if (one.gemm && is_gemm != one.gemm_first) hold<<<1, 1, 0, lane.stream>>>(kHoldNs);
      CUDA_CHECK(cudaGetLastError());
    }
    for (const bool first : {true, false})
      for (size_t i = 0; i < lanes; ++i)
        if ((one.gemm == nullptr || (i == one.parts.size()) == one.gemm_first) == first) enqueue(one, i);
    *static_cast<volatile uint32_t*>(host_) = epoch_;
    CUDA_CHECK(cudaDeviceSynchronize());
    if (static_cast<volatile uint32_t*>(host_)[16] != 0) {
      std::fprintf(stderr, "codec: a gate timed out: the work was not enqueued in two seconds\n");
      std::exit(1);
    }
    double first = 0;  // relative to lane 0
    for (size_t i = 0; i < lanes; ++i) first = std::min(first, us(lanes_[0].begin, lanes_[i].begin));
    codec_us = gemm_us = 0;
    for (size_t i = 0; i < lanes; ++i) {
      double& end = i == one.parts.size() ? gemm_us : codec_us;
      end = std::max(end, us(lanes_[0].begin, lanes_[i].end) - first);
    }
  }

  void call_all(const std::string& name, int64_t bytes) {
    Codec& codec = *codecs[name][0];
    fill(codec.value_bytes());
    codec.compress(plain_, coded_, bytes, gate_);
    codec.decompress(coded_, sum_, bytes, gate_);
    codec.reduce(coded_, own_, sum_, bytes, gate_);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  // Appends times of the host in us for 50 calls: of the call itself (`call`), and from the call until the host knows
  // the compressed size (`known`).
  void host(const std::string& name, bool compress, int64_t bytes, std::vector<double>& call,
            std::vector<double>& known) {
    Codec& codec = *codecs[name][0];
    fill(codec.value_bytes());
    const cudaStream_t stream = lanes_[0].stream;
    codec.compress(plain_, coded_, bytes, stream);
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 60; ++i) {
      const double begin = now_seconds();
      if (compress)
        codec.compress(plain_, coded_, bytes, stream);
      else
        codec.decompress(coded_, sum_, bytes, stream);
      const double called = now_seconds();
      codec.size(bytes, stream);
      const double end = now_seconds();
      if (i < 10) continue;
      call.push_back((called - begin) * 1e6);
      known.push_back((end - begin) * 1e6);
    }
  }

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
  };

  static double us(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, from, to));
    return double(ms) * 1e3;
  }
  static char* at(char* memory, size_t lane) { return memory + int64_t(lane) * (2 * kMost / kLanes); }

  void open_gate() {
    launch_evict_l2(gate_, flush_, sms_);
    Gate gate{};
    gate.ready[0] = words_;
    launch_gate(gate_, host_, gate, 0, 1, epoch_, reinterpret_cast<int*>(host_ + 16));
    CUDA_CHECK(cudaEventRecord(released_, gate_));
  }

  void enqueue(const Case& one, size_t i) {
    const Lane& lane = lanes_[i];
    CUDA_CHECK(cudaEventRecord(lane.begin, lane.stream));
    if (i == one.parts.size()) {
      one.gemm->enqueue({lane.stream});
    } else {
      const Part& part = one.parts[i];
      Codec& codec = *codecs[part.codec][i];
      if (part.work == Operation::compress) codec.compress(at(plain_, i), at(coded_, i), part.bytes, lane.stream);
      if (part.work == Operation::decompress) codec.decompress(at(coded_, i), at(sum_, i), part.bytes, lane.stream);
      if (part.work == Operation::reduce)
        codec.reduce(at(coded_, i), at(own_, i), at(sum_, i), part.bytes, lane.stream);
    }
    CUDA_CHECK(cudaEventRecord(lane.end, lane.stream));
  }

  int sms_;
  uint32_t epoch_ = 0;
  uint32_t *host_ = nullptr, *words_ = nullptr;
  uint4* flush_ = nullptr;
  cudaStream_t gate_ = nullptr;
  cudaEvent_t released_ = nullptr;
  Lane lanes_[kLanes + 1];
  char *plain_ = nullptr, *own_ = nullptr, *coded_ = nullptr, *sum_ = nullptr;
  int filled_ = 0;
  unsigned* most_ = nullptr;
  double* squares_ = nullptr;
};

std::vector<ComputeShape> gemm_shapes() {
  std::vector<ComputeShape> shapes;
  for (const auto& [m, n, k] :
       {std::array{4096, 4096, 4096}, std::array{8192, 8192, 2048}, std::array{2048, 8192, 8192}}) {
    ComputeShape s;
    s.m = m;
    s.n = n;
    s.k = k;
    s.name = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    shapes.push_back(s);
  }
  return shapes;
}

int rate_of(const std::string& codec) { return codec.rfind("zfp_", 0) == 0 ? std::atoi(codec.c_str() + 4) : 0; }

// Returns the numbers of a list such as "1,2,3".
std::vector<int64_t> numbers(const std::string& list) {
  std::vector<int64_t> all;
  std::stringstream stream(list);
  for (std::string one; std::getline(stream, one, ',');) all.push_back(std::atoll(one.c_str()));
  return all;
}

// Returns the cases to measure. If `other_sizes` is not empty, returns only single calls of these sizes (multiples of 4
// bytes), without other work beside them.
std::vector<Case> all_cases(const std::vector<int64_t>& other_sizes, const std::vector<std::string>& codecs,
                            const std::vector<ComputeShape>& shapes, const std::vector<std::unique_ptr<Gemm>>& gemms) {
  std::vector<Case> cases;
  std::vector<int64_t> sizes = {64 * kKib,  96 * kKib, 256 * kKib, 700'000,   kMib,        3 * kMib,  4 * kMib,
                                11'000'000, 16 * kMib, 32 * kMib,  64 * kMib, 100'000'000, 256 * kMib};
  if (!other_sizes.empty()) sizes = other_sizes;
  const auto works = [](const std::string& codec) {
    return rate_of(codec) > 0 ? std::vector<Operation>{Operation::compress, Operation::decompress, Operation::reduce}
                              : std::vector<Operation>{Operation::compress, Operation::decompress};
  };
  for (const std::string& codec : codecs)
    for (const Operation work : works(codec))
      for (const int64_t bytes : sizes)
        if (bytes % 4 == 0) cases.push_back({"alone", {{work, codec, bytes}}});
  if (!other_sizes.empty()) return cases;
  for (const std::string& codec : codecs) {
    const int rate = rate_of(codec);
    if (rate != 8 && rate != 0) continue;
    for (const Operation work : {Operation::compress, Operation::decompress})
      for (const int64_t bytes : {256 * kKib, kMib, 4 * kMib, 16 * kMib})
        for (const int streams : {2, 4, 8})
          cases.push_back({"streams", std::vector<Part>(size_t(streams), {work, codec, bytes})});
    // compress and decompress at the same time, as a middle rank of a broadcast along a chain does
    for (const int64_t bytes : {kMib, 16 * kMib, 64 * kMib})
      cases.push_back({"both_ways", {{Operation::compress, codec, bytes}, {Operation::decompress, codec, bytes}}});
    for (size_t g = 0; g < gemms.size(); ++g)
      for (const Operation work : {Operation::compress, Operation::decompress})
        for (const int64_t bytes : {4 * kMib, 32 * kMib, 64 * kMib})
          for (const bool gemm_first : {true, false})
            cases.push_back({"beside", {{work, codec, bytes}}, &shapes[g], gemms[g].get(), gemm_first});
  }
  for (size_t g = 0; g < gemms.size(); ++g) cases.push_back({"gemm", {}, &shapes[g], gemms[g].get(), true});
  return cases;
}

std::string text(int64_t value) { return std::to_string(value); }

// Returns the case as queues of a Moire scenario. The queues name the codec's file but no rate. Cases with several
// queues have the rate of this file (8 bits); for single calls the validation file sets the ratio.
std::string queues_of(const Case& one) {
  std::string queues = "\"{";
  const std::string wait = "{delay: {time: " + text(int64_t(kHoldNs)) + " ns}}, ";
  for (size_t i = 0; i < one.parts.size(); ++i) {
    const Part& part = one.parts[i];
    const std::string file = rate_of(part.codec) > 0 ? "zfp" : "ans_bf16";
    queues += std::string(i == 0 ? "" : ", ") + "q" + text(int64_t(i)) + ": [" +
              (one.gemm && one.gemm_first ? wait : "") + "{" + kNames[int(part.work)] +
              ": {bytes: " + text(part.bytes) + " B, codec: ../../configs/codecs/" + file + ".yaml}}]";
  }
  if (one.gemm)
    queues += std::string(one.parts.empty() ? "" : ", ") + "gemm: [" + (one.gemm_first ? "" : wait) +
              "{gemm: {m: " + text(one.shape->m) + ", n: " + text(one.shape->n) + ", k: " + text(one.shape->k) + "}}]";
  return queues + "}\"";
}

void write_row(std::FILE* file, const Case& one) {
  const bool codec = !one.parts.empty();
  const Part none{Operation::compress, "", 0};
  const Part& part = codec ? one.parts[0] : none;
  const int rate = rate_of(part.codec);
  std::fprintf(file, "%s,%s,%s,%.9g,%lld,%zu,%s,%s", one.kind.c_str(),
               one.kind == "both_ways" ? "both"
               : codec                 ? kNames[int(part.work)]
                                       : "",
               rate > 0 ? "zfp" : part.codec.c_str(), rate > 0 ? 32.0 / rate : 0.0, static_cast<long long>(part.bytes),
               one.parts.size(), one.shape ? one.shape->name.c_str() : "",
               one.gemm == nullptr ? ""
               : one.gemm_first    ? "gemm"
                                   : "codec");
  for (const std::vector<double>* x : {&one.whole, &one.codec_end, &one.gemm_end})
    std::fprintf(file, ",%.2f,%.2f,%.2f", quantile(*x, 0.5), quantile(*x, 0.1), quantile(*x, 0.9));
  std::fprintf(file, ",%zu,%s,%s\n", one.whole.size(), queues_of(one).c_str(),
               one.gemm == nullptr ? "[]"
               : one.gemm_first    ? "[gemm]"
                                   : "[q0]");
}

void write_facts(const std::string& path, Bench& bench, const std::vector<std::string>& names) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    std::exit(2);
  }
  std::fprintf(
      file,
      "# of 64 MiB of normally distributed values; errors over the largest value; host: us, medians of 50 calls\n"
      "codec,operation,bytes,ratio,worst_error,rms_error,threads,registers,shared_bytes,local_bytes,"
      "workgroups_per_sm,call_us,known_us\n");
  for (const std::string& name : names) {
    double ratio = 0, worst = 0, rms = 0;
    bench.check(name, 700'000, ratio, worst, rms);
    bench.check(name, 64 * kMib, ratio, worst, rms);
    for (const KernelFacts& k : bench.codecs[name][0]->facts())
      std::fprintf(file, "%s,%s,,%.6g,%.4g,%.4g,%d,%d,%d,%d,%d,,\n", name.c_str(), k.kernel.c_str(), ratio, worst, rms,
                   k.threads, k.registers, k.shared_bytes, k.local_bytes, k.workgroups_per_sm);
    for (const bool compress : {true, false})
      for (const int64_t bytes : {64 * kKib, kMib, 16 * kMib, 64 * kMib}) {
        std::vector<double> call, known;
        bench.host(name, compress, bytes, call, known);
        std::fprintf(file, "%s,%s,%lld,%.6g,%.4g,%.4g,,,,,,%.2f,%.2f\n", name.c_str(),
                     compress ? "compress" : "decompress", static_cast<long long>(bytes), ratio, worst, rms,
                     quantile(call, 0.5), quantile(known, 0.5));
      }
  }
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  std::string command = "codec_measure";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  Collector c(argc, argv, "codec_measure", 0);
  const int rounds = std::atoi(c.option("--rounds", "15").c_str());
  const double limit = std::atof(c.option("--seconds", "200").c_str());
  const std::string profile = c.option("--profile", "");
  CUDA_CHECK(cudaSetDevice(0));
  Bench bench(c.sms());
  std::vector<std::string> names;
  const std::string wanted = "," + c.option("--codecs", "zfp,ans") + ",";
  for (const int64_t rate : numbers(c.option("--rates", "4,6,8,12,16,24")))
    for (int lane = 0; lane < kLanes && wanted.find(",zfp,") != std::string::npos; ++lane) {
      std::unique_ptr<Codec> codec = make_zfp(int(rate));
      if (!codec) continue;
      const std::string name = "zfp_" + text(rate);
      if (lane == 0) names.push_back(name);
      bench.codecs[name].push_back(std::move(codec));
    }
  for (int lane = 0; lane < kLanes && wanted.find(",ans,") != std::string::npos; ++lane)
    if (std::unique_ptr<Codec> codec = make_ans(lane == 0 ? kMost : 64 * kMib)) {
      if (lane == 0) names.push_back("ans_bf16");
      bench.codecs["ans_bf16"].push_back(std::move(codec));
    }
  if (names.empty()) {
    std::fprintf(stderr,
                 "codec_measure: built without codecs; -DZFP_SOURCE=DIR or -DDIETGPU_SOURCE=DIR would be right\n");
    return 1;
  }
  if (!profile.empty()) {  // runs each kernel once, without a gate, for a profiler
    for (const std::string& name : names)
      if (profile == "all" || profile == name) bench.call_all(name, 64 * kMib);
    return 0;
  }
  const std::vector<ComputeShape> shapes = gemm_shapes();
  const Operands operands(1, shapes);
  std::vector<std::unique_ptr<Gemm>> gemms;
  for (const ComputeShape& s : shapes) {
    gemms.push_back(Gemm::create(operands, s, 0));
    gemms.back()->check();
  }
  write_facts(c.option("--facts", "codec_facts.csv"), bench, names);
  std::vector<Case> cases = all_cases(numbers(c.option("--sizes", "")), names, shapes, gemms);
  std::fprintf(stderr, "codec_measure: %zu cases; codecs and GEMMs give right results\n", cases.size());
  std::FILE* file = c.file();
  std::fprintf(file, "# moire-codec 1\n");
  write_provenance(file, 1, command);
  std::fprintf(file,
               "# cublaslt: %s\n# us from the first release: whole to the last end; codec, gemm to theirs; medians, "
               "p10 and p90 of the repetitions. A call of compress clears its output and runs its kernel. The L2 holds "
               "nothing of the data before. Data: normal, sigma 0.02; fp32 with zfp, bf16 with ans_bf16\n"
               "kind,operation,codec,ratio,bytes,streams,gemm,first,whole_us,whole_p10_us,whole_p90_us,codec_us,"
               "codec_p10_us,codec_p90_us,gemm_us,gemm_p10_us,gemm_p90_us,repetitions,queues,launch\n",
               Gemm::version().c_str());
  std::mt19937 random(1);
  const double began = now_seconds();
  for (int round = 0; round < kWarmUps + rounds; ++round) {
    // Codecs for fp32 come first, then those for bf16, so that the data are filled once for each type.
    for (size_t i = cases.size(); i > 1; --i) std::swap(cases[i - 1], cases[random() % i]);
    std::stable_partition(cases.begin(), cases.end(),
                          [](const Case& one) { return one.parts.empty() || rate_of(one.parts[0].codec) > 0; });
    for (Case& one : cases) {
      double codec_us = 0, gemm_us = 0;
      bench.run(one, codec_us, gemm_us);
      if (round < kWarmUps) continue;
      one.whole.push_back(std::max(codec_us, gemm_us));
      one.codec_end.push_back(codec_us);
      one.gemm_end.push_back(gemm_us);
    }
    if (now_seconds() - began > limit && round >= kWarmUps) break;
  }
  std::stable_sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    const auto key = [](const Case& one) {
      const Part none{Operation::compress, "", 0};
      const Part& p = one.parts.empty() ? none : one.parts[0];
      return std::make_tuple(one.kind, p.codec, int(p.work), p.bytes, one.parts.size(),
                             one.shape ? one.shape->name : std::string(), one.gemm_first);
    };
    return key(a) < key(b);
  });
  for (const Case& one : cases) write_row(file, one);
  return 0;
}
