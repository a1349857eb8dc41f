#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "chain.hpp"
#include "cores.hpp"
#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr double kLongest = 5;  // seconds; a run that takes longer is regarded as hanging

// Returns the bytes to which `plain` uncompressed bytes are coded. A coded chunk begins at the offset of its
// uncompressed values times rate / 32.
int64_t coded_bytes(const Broadcast& b, int64_t plain) { return plain * b.rate / 32; }

bool is_wait(Action action) { return action == Action::wait_arrived || action == Action::wait_coded; }
bool is_send(Action action) {
  return action == Action::send_plain || action == Action::send_coded || action == Action::send_came;
}

}  // namespace

Stream::Stream(const RankMemory& own, const RankMemory* next) : own_(own), next_(next) {
  CUDA_CHECK(cudaSetDevice(own.gpu));
  CUDA_CHECK(cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreateWithFlags(&outside_, cudaEventDisableTiming));
  last_ = work_;
  if (next == nullptr) return;
  CUDA_CHECK(cudaSetDevice(next->gpu));
  CUDA_CHECK(cudaStreamCreateWithFlags(&into_next_, cudaStreamNonBlocking));
}

Stream::~Stream() {
  cudaStreamDestroy(work_);
  cudaEventDestroy(outside_);
  if (into_next_ != nullptr) cudaStreamDestroy(into_next_);
}

void Stream::send(Link link, const char* from, char* to, int64_t offset, int64_t bytes) {
  const size_t size = size_t(bytes);
  if (link == Link::peer) {
    CUDA_CHECK(cudaMemcpyPeerAsync(to + offset, next_->gpu, from + offset, own_.gpu, size, work_));
    return;
  }
  CUDA_CHECK(cudaMemcpyAsync(own_.outbox + offset, from + offset, size, cudaMemcpyDeviceToHost, work_));
  CUDA_CHECK(cudaEventRecord(outside_, work_));
  CUDA_CHECK(cudaStreamWaitEvent(into_next_, outside_, 0));
  CUDA_CHECK(cudaMemcpyAsync(to + offset, own_.outbox + offset, size, cudaMemcpyHostToDevice, into_next_));
  last_ = into_next_;
}

void Stream::enqueue(const Broadcast& b, Step step, Codec* codec) {
  const int64_t plain = b.bytes / b.chunks, coded = coded_bytes(b, plain);
  const int64_t plain_at = plain * step.chunk, coded_at = coded * step.chunk;
  last_ = work_;
  switch (step.action) {
    case Action::compress:
      return codec->compress(own_.data + plain_at, own_.coded + coded_at, plain, work_);
    case Action::decompress:
      return codec->decompress(own_.came + coded_at, own_.plain + plain_at, plain, work_);
    case Action::send_plain:
      return send(b.link, own_.data, next_->plain, plain_at, plain);
    case Action::send_coded:
      return send(b.link, own_.coded, next_->came, coded_at, coded);
    case Action::send_came:
      return send(b.link, own_.came, next_->came, coded_at, coded);
    case Action::wait_arrived:
    case Action::wait_coded:
    case Action::tell_coded:
      return;
  }
}

bool Stream::idle() const {
  const cudaError_t status = cudaStreamQuery(last_);
  if (status == cudaErrorNotReady) return false;
  CUDA_CHECK(status);
  return true;
}

Chain::Chain(int gpus, int ranks) : memory_(size_t(ranks)) {
  for (int r = 0; r < ranks; ++r) {
    RankMemory& m = memory_[size_t(r)];
    m.gpu = r % gpus;
    CUDA_CHECK(cudaSetDevice(m.gpu));
    for (char** memory : {&m.plain, &m.came, &m.coded}) {
      CUDA_CHECK(cudaMalloc(memory, size_t(kMost)));
      CUDA_CHECK(cudaMemset(*memory, 0, size_t(kMost)));
    }
    m.data = m.plain;
    if (r + 1 < ranks) CUDA_CHECK(cudaHostAlloc(&m.outbox, size_t(kMost), cudaHostAllocPortable));
  }
  for (int r = 0; r < ranks; ++r) {
    rank_.push_back(std::make_unique<Rank>());
    const RankMemory* next = r + 1 < ranks ? &memory_[size_t(r) + 1] : nullptr;
    for (int s = 0; s < 3 * kMostStreams; ++s)
      rank_.back()->streams.push_back(std::make_unique<Stream>(memory_[size_t(r)], next));
  }
  for (int r = 0; r < ranks; ++r) {
    CUDA_CHECK(cudaSetDevice(memory(r).gpu));
    CUDA_CHECK(cudaDeviceSynchronize());
    rank_[size_t(r)]->thread = std::thread(&Chain::wait_for_runs, this, r);
  }
}

Chain::~Chain() {
  closing_ = true;
  for (const std::unique_ptr<Rank>& rank : rank_) rank->thread.join();
  for (const RankMemory& m : memory_) {
    for (char* memory : {m.plain, m.came, m.coded}) cudaFree(memory);
    if (m.outbox != nullptr) cudaFreeHost(m.outbox);
  }
}

// Fills the list of steps of every stream. With n streams per kind of work (compress, send, decompress), stream s
// handles the chunks s, s + n, s + 2n, ...
void Chain::plan(const Broadcast& b) {
  for (int r = 0; r < ranks(); ++r) {
    std::vector<std::unique_ptr<Stream>>& streams = rank_[size_t(r)]->streams;
    for (const std::unique_ptr<Stream>& stream : streams) {
      stream->steps.clear();
      stream->at = 0;
    }
    if (r >= b.ranks) continue;
    const bool receives = r > 0, sends = r + 1 < b.ranks;
    for (int c = 0; c < b.chunks; ++c) {
      const size_t s = size_t(c % b.streams);
      const auto add = [c](Stream& to, bool wanted, Action action) {
        if (wanted) to.steps.push_back({action, c});
      };
      if (b.compression == Compression::root) {
        Stream &encode = *streams[s], &send = *streams[kMostStreams + s], &decode = *streams[2 * kMostStreams + s];
        add(encode, !receives, Action::compress);
        add(encode, !receives, Action::tell_coded);
        add(send, sends, receives ? Action::wait_arrived : Action::wait_coded);
        add(send, sends, receives ? Action::send_came : Action::send_coded);
        add(decode, receives, Action::wait_arrived);
        add(decode, receives, Action::decompress);
      } else {
        const bool codes = b.compression == Compression::every_hop;
        Stream& hop = *streams[s];
        add(hop, receives, Action::wait_arrived);
        add(hop, receives && codes, Action::decompress);
        add(hop, sends && codes, Action::compress);
        add(hop, sends, codes ? Action::send_coded : Action::send_plain);
      }
    }
  }
}

double Chain::run(const Broadcast& b, Codec* codec) {
  broadcast_ = b;
  codec_ = codec;
  plan(b);
  const double begin = on_threads([&](int rank, uint32_t run) { serve(rank, run); });
  double end = begin;
  for (int r = 0; r < b.ranks; ++r) end = std::max(end, rank_[size_t(r)]->end);
  return (end - begin) * 1e6;
}

void Chain::bind(const std::vector<int>& cpus) {
  on_threads([&](int rank, uint32_t) { bind_to(cpus[size_t(rank)]); });
}

double Chain::slowest_loop_us() {
  on_threads([&](int rank, uint32_t) { rank_[size_t(rank)]->loop_us = loop_us(); });
  double slowest = 0;
  for (const std::unique_ptr<Rank>& rank : rank_) slowest = std::max(slowest, rank->loop_us);
  return slowest;
}

double Chain::on_threads(const std::function<void(int, uint32_t)>& work) {
  work_ = work;
  working_ = ranks();
  const double begin = now_seconds();
  run_.fetch_add(1);
  while (working_.load() > 0) {
    if (now_seconds() - begin < kLongest) continue;
    std::fprintf(stderr, "broadcast: a run of %lld B in %d chunks hangs\n", static_cast<long long>(broadcast_.bytes),
                 broadcast_.chunks);
    std::_Exit(1);
  }
  return begin;
}

void Chain::wait_for_runs(int rank) {
  CUDA_CHECK(cudaSetDevice(memory(rank).gpu));
  for (uint32_t done = 0; !closing_.load();) {
    const uint32_t run = run_.load();
    if (run == done) continue;
    work_(rank, run);
    done = run;
    working_.fetch_sub(1);
  }
}

void Chain::serve(int rank, uint32_t run) {
  Rank& own = *rank_[size_t(rank)];
  std::vector<Stream*> open;
  for (const std::unique_ptr<Stream>& stream : own.streams)
    if (!stream->steps.empty()) open.push_back(stream.get());
  while (!open.empty())
    for (size_t i = 0; i < open.size();) {
      if (advance(rank, *open[i], run))
        open.erase(open.begin() + std::ptrdiff_t(i));
      else
        ++i;
    }
  own.end = now_seconds();
}

// Executes steps of `stream` until it has to wait for the GPU or for another rank. Returns true if it has no more
// steps.
bool Chain::advance(int rank, Stream& stream, uint32_t run) {
  Rank& own = *rank_[size_t(rank)];
  if (stream.busy) {
    if (!stream.idle()) return false;
    stream.busy = false;
    finish(rank, stream.steps[stream.at++], run);
  }
  for (; stream.at < stream.steps.size(); ++stream.at) {
    const Step step = stream.steps[stream.at];
    if (is_wait(step.action)) {
      const auto& flag = (step.action == Action::wait_arrived ? own.arrived : own.coded)[step.chunk];
      if (flag.load(std::memory_order_acquire) != run) return false;
    } else if (step.action == Action::tell_coded) {
      own.coded[step.chunk].store(run, std::memory_order_release);
    } else {
      stream.enqueue(broadcast_, step, codec_);
      stream.busy = true;
      return false;
    }
  }
  return true;
}

void Chain::finish(int rank, Step step, uint32_t run) {
  if (is_send(step.action)) rank_[size_t(rank) + 1]->arrived[step.chunk].store(run, std::memory_order_release);
}
