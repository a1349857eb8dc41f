// The DMA engines of one GPU: copies wait for an engine and, to peers, for one of the slots in which copies progress.
//
// A copy's first byte moves
//   - first_command after the copy may begin (it was enqueued, and what it depends on is done), and
//   - next_command after the end of the copy before it on the engine, if that was of the same queue, else
//     switch_command: the engine has read the command by then, but not turned to it.
// Then it takes bytes / shared rate.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "models/hardware/dma/spec.hpp"
#include "models/hardware/part/services.hpp"
#include "sim/core/run_loop.hpp"
#include "sim/core/sharing.hpp"

namespace moire::dma {

struct CopyRequest {
  core::ClassId path = core::no_id;  // class of the sharing law: engine, memories, links
  Bytes bytes;
  std::uint32_t queue = 0;
  Time ready;          // when the copy may begin as far as it is known before the engine comes to it
  bool local = false;  // within the GPU
  core::EventSink* sink = nullptr;
  std::uint64_t payload = 0;
};

class Engines final : public core::EventSink {
 public:
  Engines(const DmaSpec& spec, core::RunLoop& loop, core::Sharing& sharing);
  // Queues a copy; returns nothing, the request's sink fires when the last byte is written.
  void submit(const CopyRequest& request);
  using Finished = part::Copies::Finished;
  const Finished& finished() const { return finished_; }
  std::size_t waiting() const { return queue_.size(); }
  void fire(std::uint64_t payload) override;

 private:
  struct Engine {
    bool busy = false;
    bool moving = false;
    bool used = false;
    std::uint32_t queue = 0;  // of its last copy
    Time end;                 // of its last copy
    CopyRequest request;
    Time begin;
  };
  void dispatch();
  void begin(std::uint32_t number, const CopyRequest& request, Time at);
  void start_kernel(const CopyRequest& request);

  DmaSpec spec_;
  core::RunLoop& loop_;
  core::Sharing& sharing_;
  std::vector<Engine> engines_;  // behind the engines: kernels that copy within the GPU, each as a seat of its own
  std::deque<CopyRequest> queue_;
  std::int64_t running_ = 0;
  Finished finished_{};
};

}  // namespace moire::dma
