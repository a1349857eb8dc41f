// The scale-out network as SimGrid flows: concurrent messages share every link max-min fairly.
//
// Messages of one (source, destination, flow) channel have at most one SimGrid communication in flight; those that
// queue behind it are merged into the next one, up to `merge_limit` (a larger message goes alone), and all of them are
// delivered with its last byte. A message alone takes sum of latencies + bytes / smallest bandwidth, as in
// QueueNetwork: SimGrid carries the bytes, the path's latency is added at the end, so back-to-back communications of
// a channel leave no gap on the wire.
//
// SimGrid shares a link in proportion to 1 / route latency; here every route has the same nominal latency, so shares
// are equal. Its clock is a double in seconds: dates are rounded to the nearest picosecond, deliveries never lie in
// our past, and the two clocks differ by less than 1 ps while a run is shorter than an hour (2^-53 x 3600 s < 0.5 ps).
// A communication carries whole bytes (rounded up) and 1 ps of latency of its own; a completion may be up to 1 ps early
// (SimGrid's date precision).
//
// ONE PER PROCESS: SimGrid's engine is a process-wide singleton that keeps its clock. A second FlowNetwork, even after
// the first is gone, throws InvariantError. Run further simulations in further processes.
#pragma once

#include <memory>

#include "sim/core/network.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::core::flow {

struct FlowNetworkSpec {
  Bytes merge_limit{4 * 1024 * 1024.0};  // of queued messages in one communication
};

class FlowNetwork final : public Network {
 public:
  // `component` orders deliveries among the events of one picosecond. Both references must outlive the network.
  FlowNetwork(RunLoop& loop, const Topology& topology, FlowNetworkSpec spec = {}, std::uint32_t component = 0);
  ~FlowNetwork() override;

  void send(const Message& message) override;
  Bytes injected() const override;
  Bytes delivered() const override;
  // Counts a communication when it ends; busy is the time its bytes take at full bandwidth.
  std::vector<LinkUse> use() const override;
  std::uint64_t communications() const;

 private:
  friend void run_with_simgrid(RunLoop& loop, FlowNetwork& network);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs the loop inside SimGrid's engine until both have nothing left. Exceptions of events come out of here.
void run_with_simgrid(RunLoop& loop, FlowNetwork& network);

}  // namespace moire::core::flow
