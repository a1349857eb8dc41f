// The DMA engines of one GPU: copies wait for an engine and, to peers, for one of the slots in which copies progress.
//
// t(copy) = command cost + bytes / shared rate. The command costs next_command if it was queued behind another copy of
// its queue (the engine has it prefetched), else first_command: measured on H200, copies of different queues pay the
// full cost even when they follow each other. Copies within the GPU that the driver runs as a kernel wait for nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "models/dma/spec.hpp"
#include "sim/core/run_loop.hpp"
#include "sim/core/sharing.hpp"

namespace moire::models::dma {

struct CopyRequest {
  core::ClassId path = core::no_id;  // class of the sharing law: engine, memories, links
  Bytes bytes;
  bool prefetched = false;  // queued behind another copy of the same queue
  bool local = false;       // within the GPU
  core::EventSink* sink = nullptr;
  std::uint64_t payload = 0;
};

class Engines final : public core::EventSink {
 public:
  Engines(const DmaSpec& spec, core::RunLoop& loop, core::Sharing& sharing);
  // Queues a copy; returns nothing, the request's sink fires when the last byte is written.
  void submit(const CopyRequest& request);
  // Does the driver run copies within the GPU itself?
  bool local_by_kernel() const { return spec_.local_bandwidth.has_value(); }
  // Engine the copy that fires now ran on (for the timeline; numbers above the engines' are the driver's kernels) and
  // when its bytes began to move.
  struct Finished {
    std::uint32_t engine;
    Time begin;
  };
  const Finished& finished() const { return finished_; }
  std::size_t waiting() const { return queue_.size(); }
  void fire(std::uint64_t payload) override;

 private:
  struct Engine {
    bool busy = false;
    bool moving = false;
    CopyRequest request;
    Time begin;
  };
  void dispatch();
  void begin(std::size_t engine, const CopyRequest& request, Time command);

  DmaSpec spec_;
  core::RunLoop& loop_;
  core::Sharing& sharing_;
  std::vector<Engine> engines_;
  std::deque<CopyRequest> queue_;
  std::int64_t running_ = 0;
  Finished finished_{};
};

}  // namespace moire::models::dma
