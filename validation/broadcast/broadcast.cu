// Times broadcasts along a chain of ranks, plain and compressed, through peer memory and through host memory. Host
// threads forward the chunks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include "broadcast_grid.hpp"
#include "cuda_check.hpp"
#include "evict_l2.hpp"
#include "harness.hpp"
#include "provenance.hpp"
#include "quiet.hpp"
#include "statistics.hpp"
#include "weights.cuh"

namespace {

constexpr int64_t kKib = 1024, kMib = 1024 * kKib;
// In every run the root's data begin at another offset, so that data left over from the previous run are detected as
// wrong.
constexpr int64_t kShift = 64 * kKib;
constexpr uint32_t kShifts = 8;
constexpr int64_t kData = Chain::kMost + kShift * kShifts;
constexpr int kCalls = 50, kCallsBefore = 10, kChunks = 16;

__global__ void fill_weights(float* out, int64_t count) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x)
    out[i] = normal(uint64_t(i), 1);
}

__global__ void count_wrong(const uint4* got, const uint4* right, int64_t count, unsigned long long* wrong) {
  unsigned long long own = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const uint4 a = got[i], b = right[i];
    own += (a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w) ? 1 : 0;
  }
  if (own > 0) atomicAdd(wrong, own);
}

void on_all(int gpus, const std::function<void(int)>& work) {
  for (int g = 0; g < gpus; ++g) {
    CUDA_CHECK(cudaSetDevice(g));
    work(g);
  }
}

void synchronise(int gpus) {
  on_all(gpus, [](int) { CUDA_CHECK(cudaDeviceSynchronize()); });
}

using Codecs = std::map<int, std::unique_ptr<Codec>>;  // by rate

class Bench {
 public:
  Bench(int gpus, int ranks, int sms, const Codecs& codecs) : chain(gpus, ranks), gpus_(gpus), sms_(sms), gpu_(gpus) {
    on_all(gpus, [&](int g) {
      Gpu& gpu = gpu_[size_t(g)];
      CUDA_CHECK(cudaMalloc(&gpu.flush, kFlushBytes));
      CUDA_CHECK(cudaMemset(gpu.flush, 0, kFlushBytes));
      CUDA_CHECK(cudaMalloc(&gpu.wrong, sizeof(unsigned long long)));
      // right[{rate, n}] holds the values that a rank must receive: the root's values after they were compressed and
      // decompressed n times. Each GPU computes them itself, which also loads the codec's kernels. ZFP's blocks are
      // independent of each other, so neither the chunks nor the offset of the data change the result.
      char* coded = nullptr;
      CUDA_CHECK(cudaMalloc(&coded, size_t(kData)));
      gpu.right[{32, 0}] = buffer();
      fill_weights<<<1024, 256>>>(reinterpret_cast<float*>(gpu.right[{32, 0}]), kData / 4);
      for (const auto& [rate, codec] : codecs) {
        const char* from = gpu.right[{32, 0}];
        for (int passes = 1; passes < ranks; ++passes) {
          char* to = buffer();
          codec->compress(from, coded, kData, nullptr);
          codec->decompress(coded, to, kData, nullptr);
          gpu.right[{rate, passes}] = to;
          from = to;
        }
      }
      CUDA_CHECK(cudaDeviceSynchronize());
      CUDA_CHECK(cudaFree(coded));
    });
  }

  // Ends the program unless coding changes the data, but only slightly. If coding left the data unchanged, the check of
  // a broadcast could not tell coded from uncoded data.
  void check_codecs(const Codecs& codecs) {
    for (const auto& [rate, codec] : codecs) {
      const unsigned long long changed = wrong(0, gpu_[0].right[{32, 0}], gpu_[0].right[{rate, 1}], kData);
      std::vector<float> before(1024), after(1024);
      CUDA_CHECK(cudaMemcpy(before.data(), gpu_[0].right[{32, 0}], 4096, cudaMemcpyDeviceToHost));
      CUDA_CHECK(cudaMemcpy(after.data(), gpu_[0].right[{rate, 1}], 4096, cudaMemcpyDeviceToHost));
      double most = 0;
      for (size_t i = 0; i < before.size(); ++i) most = std::max(most, double(std::fabs(before[i] - after[i])));
      std::fprintf(stderr, "broadcast: rate %d loses %.4g of values of sigma 0.02\n", rate, most);
      if (changed > 0 && most > 0 && (most < 0.02 || rate < 8)) continue;
      std::fprintf(stderr, "broadcast: the codec should lose more than 0, but little\n");
      std::exit(1);
    }
  }

  void evict() {
    on_all(gpus_, [&](int g) { launch_evict_l2(nullptr, gpu_[size_t(g)].flush, sms_); });
    synchronise(gpus_);
    CUDA_CHECK(cudaSetDevice(0));
  }

  void use_data(int64_t shift) { chain.set_data(gpu_[0].right[{32, 0}] + shift); }

  // Runs a broadcast. Returns its time in us, or a negative number if a rank received wrong data.
  double run(const Broadcast& b, const Codecs& codecs) {
    const int64_t shift = kShift * (++runs_ % kShifts);
    for (int r = 1; r < b.ranks; ++r) {
      const RankMemory& m = chain.memory(r);
      CUDA_CHECK(cudaSetDevice(m.gpu));
      CUDA_CHECK(cudaMemsetAsync(m.plain, 0xff, size_t(b.bytes), nullptr));
      if (b.rate < 32) CUDA_CHECK(cudaMemsetAsync(m.came, 0xff, size_t(b.bytes * b.rate / 32), nullptr));
    }
    evict();
    const auto codec = codecs.find(b.rate);
    use_data(shift);
    const double us = chain.run(b, codec == codecs.end() ? nullptr : codec->second.get());
    synchronise(gpus_);
    for (int r = 1; r < b.ranks; ++r) {
      const RankMemory& m = chain.memory(r);
      const int passes = b.compression == Compression::off ? 0 : b.compression == Compression::root ? 1 : r;
      const char* right = gpu_[size_t(m.gpu)].right[{b.rate, passes}] + shift;
      const unsigned long long bad = wrong(m.gpu, m.plain, right, b.bytes);
      if (bad == 0) continue;
      std::fprintf(stderr, "broadcast: rank %d of %d: %llu of %lld vectors are wrong (%s, %s, rate %d, %d chunks)\n", r,
                   b.ranks, bad, static_cast<long long>(b.bytes / 16), kLinkNames[size_t(b.link)].c_str(),
                   kCompressionNames[size_t(b.compression)].c_str(), b.rate, b.chunks);
      return -1;
    }
    return us;
  }

  Chain chain;

 private:
  struct Gpu {
    uint4* flush = nullptr;
    unsigned long long* wrong = nullptr;
    std::map<std::pair<int, int>, char*> right;  // by rate and number of codings
  };

  static char* buffer() {
    char* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, size_t(kData)));
    return memory;
  }

  unsigned long long wrong(int gpu, const char* got, const char* right, int64_t bytes) {
    CUDA_CHECK(cudaSetDevice(gpu));
    unsigned long long* const count = gpu_[size_t(gpu)].wrong;
    unsigned long long bad = 0;
    CUDA_CHECK(cudaMemset(count, 0, sizeof bad));
    count_wrong<<<sms_ * 8, 256>>>(reinterpret_cast<const uint4*>(got), reinterpret_cast<const uint4*>(right),
                                   bytes / 16, count);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(&bad, count, sizeof bad, cudaMemcpyDeviceToHost));
    return bad;
  }

  int gpus_, sms_;
  uint32_t runs_ = 0;
  std::vector<Gpu> gpu_;
};

std::FILE* open_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    std::exit(2);
  }
  return file;
}

// Times of steps of rank 0, in us. Of the queries of a stream: `polls` found it busy, `last` found the end.
struct Times {
  std::vector<double> call, known, polls, last;
};

// Sends the chunks of `b`, of which the L2 holds nothing, over `streams` streams, as a rank's host thread does: the
// thread polls the streams in turn and starts the next chunk on a stream that has ended. With one stream, adds a time
// to `known` for each chunk but the first, or for the only one. With more, adds the time of all chunks over their
// number.
void send_chunks(Bench& bench, const Broadcast& b, int streams, Times& times) {
  bench.evict();
  std::vector<double> began(size_t(streams), 0);
  int next = 0, open = 0;
  const double begin = now_seconds();
  for (int s = 0; next < b.chunks || open > 0; s = (s + 1) % streams) {
    Stream& stream = bench.chain.stream(0, s);
    double& own = began[size_t(s)];
    if (stream.busy) {
      const double asked = now_seconds();
      const bool idle = stream.idle();
      (idle ? times.last : times.polls).push_back((now_seconds() - asked) * 1e6);
      if (!idle) continue;
      stream.busy = false;
      --open;
      if (streams == 1 && (next > 1 || b.chunks == 1)) times.known.push_back((now_seconds() - own) * 1e6);
    }
    if (next == b.chunks) continue;
    own = now_seconds();
    stream.enqueue(b, {Action::send_plain, next++}, nullptr);
    times.call.push_back((now_seconds() - own) * 1e6);
    stream.busy = true;
    ++open;
  }
  if (streams > 1) times.known.push_back((now_seconds() - begin) * 1e6 / b.chunks);
}

// Times single steps on a rank that does nothing else. Writes two times of each step in us: of the host's call, and
// from the call until the host sees the end of the step. The steps `send`, `compress` and `decompress` repeat one call
// on the same data.
void write_facts(const std::string& path, Bench& bench, const Codecs& codecs, int gpus, const std::string& command) {
  std::FILE* file = open_file(path);
  std::fprintf(file, "# moire-broadcast-facts 1\n");
  write_provenance(file, gpus, command);
  std::fprintf(
      file,
      "# us, medians of %d calls: the host's call, and from the call until the host has seen the end. bytes: "
      "plain ones of the step; send: from rank 0 to rank 1, of bytes / ratio. *_first: after the L2 was filled with "
      "other data; send_next: the next of 16 chunks; send_on_two, send_on_four: 16 chunks over so many streams, "
      "known_us "
      "is the time of all chunks over their number; query: of a stream of send_next, call_us if it is busy, known_us "
      "if it "
      "has ended; nothing: a broadcast to no other rank\n"
      "step,link,ratio,bytes,call_us,known_us,known_p10_us,known_p90_us\n",
      kCalls);
  CUDA_CHECK(cudaSetDevice(0));
  bench.use_data(0);
  Stream& stream = bench.chain.stream(0);
  const auto write = [&](const char* name, const char* link, int rate, int64_t bytes, const Times& of) {
    std::fprintf(file, "%s,%s,%d,%lld,%.2f,%.2f,%.2f,%.2f\n", name, link, 32 / rate, static_cast<long long>(bytes),
                 quantile(of.call, 0.5), quantile(of.known, 0.5), quantile(of.known, 0.1), quantile(of.known, 0.9));
  };
  const auto measure = [&](const char* name, const Broadcast& b, Action action, Codec* codec, bool first = false) {
    Times of;
    for (int i = 0; i < kCallsBefore + kCalls; ++i) {
      if (first) bench.evict();
      const double begin = now_seconds();
      stream.enqueue(b, {action, 0}, codec);
      const double called = now_seconds();
      while (!stream.idle()) {
      }
      if (i < kCallsBefore) continue;
      of.call.push_back((called - begin) * 1e6);
      of.known.push_back((now_seconds() - begin) * 1e6);
    }
    write(name, codec == nullptr ? kLinkNames[size_t(b.link)].c_str() : "", b.rate, b.bytes, of);
  };
  for (const int64_t bytes : {64 * kKib, kMib, 4 * kMib, 16 * kMib, 64 * kMib}) {
    Broadcast b;
    b.bytes = bytes;
    for (const Link link : {Link::peer, Link::host}) {
      b.link = link;
      b.rate = 32;
      measure("send", b, Action::send_plain, nullptr);
    }
    for (const auto& [rate, codec] : codecs) {
      b.rate = rate;
      measure("compress", b, Action::compress, codec.get());
      const RankMemory& m = bench.chain.memory(0);
      CUDA_CHECK(cudaMemcpy(m.came, m.coded, size_t(bytes * rate / 32), cudaMemcpyDeviceToDevice));
      CUDA_CHECK(cudaDeviceSynchronize());
      measure("decompress", b, Action::decompress, codec.get());
      measure("compress_first", b, Action::compress, codec.get(), true);
      measure("decompress_first", b, Action::decompress, codec.get(), true);
    }
  }
  const auto send_chunks_of = [&](Link link, int64_t bytes) {
    const auto send = [&](const char* name, int chunks, int streams) {
      Broadcast b;
      b.link = link;
      b.bytes = bytes * chunks;
      b.chunks = chunks;
      Times of;
      for (int i = 0; i < kCalls; ++i) send_chunks(bench, b, streams, of);
      write(name, kLinkNames[size_t(b.link)].c_str(), b.rate, bytes, of);
      if (streams == 1 && chunks > 1)
        write("query", kLinkNames[size_t(b.link)].c_str(), b.rate, bytes, {of.polls, of.last});
    };
    send("send_first", 1, 1);
    send("send_next", kChunks, 1);
    send("send_on_two", kChunks, 2);
    send("send_on_four", kChunks, 4);
  };
  for (const int64_t bytes : {64 * kKib, 256 * kKib, kMib, 4 * kMib}) send_chunks_of(Link::peer, bytes);
  for (const int64_t bytes :
       {16 * kKib, 64 * kKib, 128 * kKib, 256 * kKib, 512 * kKib, kMib, 2 * kMib, 4 * kMib, 8 * kMib})
    send_chunks_of(Link::host, bytes);
  Broadcast nothing;
  nothing.ranks = 1;
  nothing.bytes = kMib;
  Times of;
  for (int i = 0; i < kCalls; ++i) {
    of.call.push_back(0);
    of.known.push_back(bench.chain.run(nothing, nullptr));
  }
  write("nothing", "", nothing.rate, 0, of);
  std::fclose(file);
}

void write_row(std::FILE* file, const Case& c, int gpus, const std::vector<double>& us) {
  const Broadcast& b = c.broadcast;
  std::fprintf(file, "%s,%s,%d,%d,%lld,%d,%d,%s,%d,%.2f,%.2f,%.2f,%zu\n", kLinkNames[size_t(b.link)].c_str(),
               kCompressionNames[size_t(b.compression)].c_str(), 32 / b.rate, b.ranks, static_cast<long long>(b.bytes),
               b.chunks, b.streams, c.use.c_str(), std::min(gpus, b.ranks), quantile(us, 0.5), quantile(us, 0.1),
               quantile(us, 0.9), us.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::string command = "broadcast_measure";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  Collector c(argc, argv, "broadcast", 0);
  if (c.gpus() < 2) {
    std::fprintf(stderr, "broadcast: it needs two GPUs with peer access\n");
    return 1;
  }
  const std::vector<Case> cases = read_grid(c.option("--grid", ""), c.option("--use", ""), c.gpus());
  const int rounds = std::atoi(c.option("--rounds", "15").c_str());
  const double limit = std::atof(c.option("--seconds", "100").c_str());
  const std::string facts = c.option("--facts", "");
  int ranks = 2;
  Codecs codecs;
  for (const Case& one : cases) ranks = std::max(ranks, one.broadcast.ranks);
  for (const int rate : {4, 8, 16})
    if (std::unique_ptr<Codec> codec = make_zfp(rate)) codecs[rate] = std::move(codec);
  if (codecs.empty()) {
    std::fprintf(stderr, "broadcast: built without a codec; -DZFP_SOURCE=DIR would be right\n");
    return 1;
  }
  Bench bench(c.gpus(), ranks, c.sms(), codecs);
  const bool any_core = c.option("--any-core", "no") == "yes";
  Quiet quiet(bench.chain, any_core);
  bench.check_codecs(codecs);
  if (!facts.empty()) write_facts(facts, bench, codecs, c.gpus(), command);

  // Every round runs all cases in another order, so that a drift of the clocks affects all cases alike. The first round
  // does not count.
  std::vector<std::vector<double>> us(cases.size());
  std::vector<bool> failed(cases.size());
  std::vector<size_t> order(cases.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(1);
  const double began = now_seconds();
  bool over = false;
  size_t missing = cases.size(), runs = 0, unquiet = 0;
  for (int round = 0; missing > 0 && !over; ++round) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    quiet.choose_cpus();
    for (const size_t i : order) {
      over = round > 0 && now_seconds() - began > limit;
      if (over) break;
      if (failed[i] || int(us[i].size()) >= rounds) continue;
      quiet.begin();
      const double one = bench.run(cases[i].broadcast, codecs);
      failed[i] = one < 0;
      if (round == 0) continue;
      ++runs;
      if (quiet.ended())
        us[i].push_back(one);
      else
        ++unquiet;
    }
    missing = 0;
    for (size_t i = 0; i < cases.size(); ++i) missing += !failed[i] && int(us[i].size()) < rounds;
    if (over) std::fprintf(stderr, "broadcast: round %d of %d: --seconds %g are over\n", round, rounds, limit);
    if (round == 0)
      std::fprintf(stderr, "broadcast: %td of %zu cases give right results; a round takes %.1f s\n",
                   std::count(failed.begin(), failed.end(), false), cases.size(), now_seconds() - began);
  }
  std::fprintf(stderr, "broadcast: %zu of %zu runs do not count, because a thread shared its core\n", unquiet, runs);
  std::FILE* file = c.file();
  std::fprintf(file, "# moire-broadcast 1\n");
  write_provenance(file, c.gpus(), command);
  std::fprintf(
      file,
      "# columns: link peer: copies into the peer's memory, host: each chunk into pinned memory of the host and "
      "out of it; compression as Moire's chunked_broadcast; ratio of ZFP, 32 / bits of a value; gpus: rank r is "
      "on GPU r modulo gpus; time_us median, p10_us and p90_us of the repetitions, on the host's clock: from the "
      "moment at which all ranks' threads may begin until the last has seen the end of its work\n"
      "%s"
      "# data: fp32, normal, sigma 0.02; the L2 holds nothing of them before; every rank's result is compared "
      "bit for bit after every run\n"
      "%s,gpus,time_us,p10_us,p90_us,repetitions\n",
      any_core ? ""
               : "# only runs count before and after which every thread executed a fixed loop at full speed, so had a "
                 "core to itself\n",
      kGridColumns);
  for (size_t i = 0; i < cases.size(); ++i)
    if (!failed[i] && !us[i].empty()) write_row(file, cases[i], c.gpus(), us[i]);
  return std::count(failed.begin(), failed.end(), true) == 0 ? 0 : 1;
}
