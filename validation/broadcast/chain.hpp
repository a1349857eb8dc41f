// A broadcast along a chain of ranks, in chunks. As in GPU-aware MPI, each rank has one host thread, which waits for
// chunks, calls the codec and forwards the chunks. The thread polls the rank's streams in turn. When the current step
// of a stream has ended, the thread starts the stream's next step.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "codec.hpp"

// The path of a chunk to the next rank.
enum class Link {
  peer,  // a copy into the peer's memory
  host,  // a copy into pinned host memory, and a copy out of it
};
inline const std::vector<std::string> kLinkNames = {"peer", "host"};

enum class Compression {
  off,
  every_hop,  // each rank decompresses, compresses and sends a chunk on one stream, one call after the other
  root,       // the root compresses; the other ranks forward the coded chunks and decompress them on another stream
};
inline const std::vector<std::string> kCompressionNames = {"off", "every_hop", "root"};

struct Broadcast {
  Link link = Link::peer;
  Compression compression = Compression::off;
  int rate = 32;  // bits per value on the link
  int ranks = 2;
  int64_t bytes = 0;
  int chunks = 1;
  int streams = 1;  // for each kind of work (compress, send, decompress)
};

// The memory of rank r, which is on GPU r modulo the number of GPUs.
struct RankMemory {
  int gpu = 0;
  const char* data = nullptr;  // what the rank sends without compression: at the root its values, elsewhere `plain`
  char* plain = nullptr;       // where the received values are stored
  char* came = nullptr;        // coded chunks received from the previous rank
  char* coded = nullptr;       // chunks that this rank coded
  char* outbox = nullptr;      // pinned host memory, from which the next rank copies
};

enum class Action { wait_arrived, wait_coded, compress, decompress, send_plain, send_coded, send_came, tell_coded };
struct Step {
  Action action;
  int chunk;
};

// A stream of a rank, with its list of steps.
class Stream {
 public:
  Stream(const RankMemory& own, const RankMemory* next);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Enqueues the GPU's work of `step`: a call of the codec, or a copy. Waiting steps have none.
  void enqueue(const Broadcast& b, Step step, Codec* codec);
  // True if the step's work has ended.
  bool idle() const;

  std::vector<Step> steps;
  size_t at = 0;
  bool busy = false;

 private:
  void send(Link link, const char* from, char* to, int64_t offset, int64_t bytes);

  const RankMemory& own_;
  const RankMemory* next_;
  cudaStream_t work_ = nullptr, into_next_ = nullptr;  // into_next_ is on the next rank's GPU
  cudaStream_t last_ = nullptr;                        // the stream whose work ends last
  cudaEvent_t outside_ = nullptr;
};

// The memory and the host threads of all ranks. In every run all threads may begin at the same moment.
class Chain {
 public:
  static constexpr int64_t kMost = int64_t{256} << 20;  // largest size of a broadcast, in uncompressed bytes
  static constexpr int kMostStreams = 4, kMostChunks = 64;

  Chain(int gpus, int ranks);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int ranks() const { return int(memory_.size()); }
  const RankMemory& memory(int rank) const { return memory_[size_t(rank)]; }
  // Returns one of the streams of `rank`, on which the caller can time single steps, without the host threads.
  Stream& stream(int rank, int number = 0) { return *rank_[size_t(rank)]->streams[size_t(number)]; }
  void set_data(const char* data) { memory_[0].data = data; }  // the root's, on GPU 0
  // Runs a broadcast. Returns the time in us from the moment at which all threads may begin until the last thread has
  // seen the end of its rank's work. `codec` is null if nothing is compressed.
  double run(const Broadcast& b, Codec* codec);
  // Binds each rank's thread to a logical CPU.
  void bind(const std::vector<int>& cpus);
  // Returns the longest loop_us() of the ranks' threads, which all execute the loop at the same time.
  double slowest_loop_us();

 private:
  struct Rank {
    std::vector<std::unique_ptr<Stream>> streams;
    // flags of the chunks; the value of a flag is the number of the last run that raised it
    std::atomic<uint32_t> arrived[kMostChunks] = {}, coded[kMostChunks] = {};
    double end = 0;
    double loop_us = 0;
    std::thread thread;
  };
  void plan(const Broadcast& b);
  void wait_for_runs(int rank);
  // Every rank's thread executes `work`, which gets the rank and the number of the run. Waits until all have ended, and
  // returns the time at which they could begin.
  double on_threads(const std::function<void(int, uint32_t)>& work);
  void serve(int rank, uint32_t run);
  bool advance(int rank, Stream& stream, uint32_t run);
  void finish(int rank, Step step, uint32_t run);

  std::vector<RankMemory> memory_;
  std::vector<std::unique_ptr<Rank>> rank_;
  std::function<void(int, uint32_t)> work_;
  Broadcast broadcast_;
  Codec* codec_ = nullptr;
  std::atomic<uint32_t> run_{0};
  std::atomic<int> working_{0};
  std::atomic<bool> closing_{false};
};
