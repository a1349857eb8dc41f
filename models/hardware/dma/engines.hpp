// The DMA engines of one GPU. Copies wait for an engine, and copies to peers also for one of the slots in which copies
// make progress.
//
// The first byte of a copy moves at the later of two times:
//   - first_command after the copy may begin (it is enqueued, and the operations before it have ended),
//   - next_command after the end of the engine's previous copy if that copy was of the same queue, else switch_command
//     after it. The engine has read the command during the previous copy, but has not switched to its queue.
// Then the copy takes bytes / rate, where the sharing law determines the rate.
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
  core::ClassId path = core::no_id;  // class of the sharing law: demands on engine, memories and links
  Bytes bytes;
  std::uint32_t queue = 0;
  Time ready;          // earliest start of the copy, as far as known before an engine is assigned
  bool local = false;  // within the GPU
  core::EventSink* sink = nullptr;
  std::uint64_t payload = 0;
};

class Engines final : public core::EventSink {
 public:
  Engines(const DmaSpec& spec, core::RunLoop& loop, core::Sharing& sharing);
  // Queues a copy; the request's sink fires when the last byte is written.
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
  std::vector<Engine> engines_;  // the DMA engines, then an entry for each copy kernel that runs
  std::deque<CopyRequest> queue_;
  std::int64_t running_ = 0;
  Finished finished_{};
};

}  // namespace moire::dma
