// The DMA engines of one GPU. A copy waits for an engine, and until fewer than `peer_concurrency` copies make progress.
// A copy by a kernel of the driver (within the GPU, if the spec has `local_command`) waits for neither.
//
// The first byte of a copy by an engine moves at the later of two times:
//   - first_command after `ready` of its request,
//   - next_command after the end of the engine's previous copy if that copy was of the same queue, else switch_command
//     after it. The engine may read the command during the previous copy, but switches to the new copy only afterwards.
// Both first_command and switch_command include the time of two events. For a copy without events it is deducted.
// Then the copy takes bytes / rate, where the sharing law determines the rate.
#pragma once

#include <array>
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
  Time ready;          // earliest time at which an engine can read the command of the copy
  bool local = false;  // within the GPU
  core::EventSink* sink = nullptr;
  std::uint64_t payload = 0;
  Time without_events{};                // deducted from first_command and switch_command
  part::Clocks* clocks = nullptr;       // told when the copy begins and ends to move bytes
  std::array<part::Rank, 2> between{};  // the GPUs at its ends
};

class Engines final : public core::EventSink {
 public:
  Engines(const DmaSpec& spec, core::RunLoop& loop, core::Sharing& sharing);
  // While an engine of `beside` moves bytes, the command of a copy behind another copy takes `longer`.
  void set_beside(const Engines& beside, Time longer);
  bool moving() const { return moving_ > 0; }
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
  static void tell_clocks(const CopyRequest& request);

  DmaSpec spec_;
  core::RunLoop& loop_;
  core::Sharing& sharing_;
  std::vector<Engine> engines_;  // the DMA engines, then an entry for each copy kernel that runs
  std::deque<CopyRequest> queue_;
  std::int64_t running_ = 0;
  std::int64_t moving_ = 0;
  const Engines* beside_ = nullptr;
  Time longer_{};
  Finished finished_{};
};

}  // namespace moire::dma
