// A broadcast along a chain of ranks, in chunks. As in GPU-aware MPI, one host thread of each rank waits for chunks,
// calls the codec and forwards them: it looks at the rank's streams in turn, and comes to a step of a stream when the
// step before it has ended.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "codec.hpp"

// How a chunk goes to the next rank.
enum class Link {
  peer,  // a copy into the peer's memory
  host,  // a copy into pinned memory of the host, and a copy out of it
};
inline const std::vector<std::string> kLinkNames = {"peer", "host"};

enum class Compression {
  off,
  every_hop,  // a rank decompresses, compresses and sends a chunk, call by call, in one stream
  root,       // the root compresses; the others forward what came, and another of their streams decompresses it
};
inline const std::vector<std::string> kCompressionNames = {"off", "every_hop", "root"};

struct Broadcast {
  Link link = Link::peer;
  Compression compression = Compression::off;
  int rate = 32;  // bits of a value on the link
  int ranks = 2;
  int64_t bytes = 0;
  int chunks = 1;
  int streams = 1;  // for each kind of work
};

// Of rank r, on GPU r modulo the number of GPUs.
struct RankMemory {
  int gpu = 0;
  const char* data = nullptr;  // what the rank sends plain: the root's values, or `plain`
  char* plain = nullptr;       // where the values arrive
  char* came = nullptr;        // coded by the rank before
  char* coded = nullptr;       // coded by this rank
  char* outbox = nullptr;      // pinned memory of the host, on the way to the next rank
};

enum class Action { wait_arrived, wait_coded, compress, decompress, send_plain, send_coded, send_came, tell_coded };
struct Step {
  Action action;
  int chunk;
};

// A stream of a rank.
class Stream {
 public:
  Stream(const RankMemory& own, const RankMemory* next);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // The GPU's work of a step, which is a call of the codec or a copy.
  void enqueue(const Broadcast& b, Step step, Codec* codec);
  // Whether it has ended.
  bool idle() const;

  std::vector<Step> steps;
  size_t at = 0;
  bool busy = false;

 private:
  void send(Link link, const char* from, char* to, int64_t offset, int64_t bytes);

  const RankMemory& own_;
  const RankMemory* next_;
  cudaStream_t work_ = nullptr, into_next_ = nullptr;  // the second is the next GPU's
  cudaStream_t last_ = nullptr;                        // the one that ends last
  cudaEvent_t outside_ = nullptr;
};

// Memory and threads of all ranks, and runs from a common start.
class Chain {
 public:
  static constexpr int64_t kMost = int64_t{256} << 20;  // plain bytes of a broadcast
  static constexpr int kMostStreams = 4, kMostChunks = 64;

  Chain(int gpus, int ranks);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int ranks() const { return int(memory_.size()); }
  const RankMemory& memory(int rank) const { return memory_[size_t(rank)]; }
  // For single steps, without threads.
  Stream& stream(int rank) { return *rank_[size_t(rank)]->streams[0]; }
  void set_data(const char* data) { memory_[0].data = data; }  // the root's, on GPU 0
  // Returns the us from the moment at which all threads may begin to the moment at which the last of them has seen the
  // end of its rank's work. No codec without compression.
  double run(const Broadcast& b, Codec* codec);

 private:
  struct Rank {
    std::vector<std::unique_ptr<Stream>> streams;
    std::atomic<uint32_t> arrived[kMostChunks] = {}, coded[kMostChunks] = {};  // the run that has raised it last
    double end = 0;
    std::thread thread;
  };
  void plan(const Broadcast& b);
  void wait_for_runs(int rank);
  void serve(int rank, uint32_t run);
  bool advance(int rank, Stream& stream, uint32_t run);
  void finish(int rank, Step step, uint32_t run);

  std::vector<RankMemory> memory_;
  std::vector<std::unique_ptr<Rank>> rank_;
  Broadcast broadcast_;
  Codec* codec_ = nullptr;
  std::atomic<uint32_t> run_{0};
  std::atomic<int> working_{0};
  std::atomic<bool> closing_{false};
};
