// The scale-out network as SimGrid flows: concurrent messages share every link max-min fairly.
//
// A message is a SimGrid communication, and those of one (source, destination, flow) channel follow each other. A message
// alone takes sum of latencies + bytes / smallest bandwidth, as in QueueNetwork: SimGrid carries the bytes and the path's
// latency is added at the end, so that back-to-back communications of a channel leave no gap on the wire.
//
// SimGrid weights flows on a link by 1 / route latency; here every route has the same nominal latency, so shares are
// equal. SimGrid's clock is a double in seconds: times are rounded to the nearest picosecond, deliveries never lie in
// our past, and the two clocks differ by less than 1 ps while a run is shorter than an hour (2^-53 x 3600 s < 0.5 ps).
// A communication carries whole bytes (rounded up) and adds 1 ps of latency; a completion may be up to 1 ps early
// (SimGrid's time precision).
//
// ONE PER PROCESS: SimGrid's engine is a process-wide singleton that keeps its clock. A second FlowNetwork, even after
// the first is destroyed, throws InvariantError. Run further simulations in further processes.
#pragma once

#include <memory>

#include "sim/core/network.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::core::flow {

class FlowNetwork final : public Network {
 public:
  // `component` orders deliveries among the events of one picosecond. Both references must outlive the network.
  FlowNetwork(RunLoop& loop, const Topology& topology, std::uint32_t component = 0);
  ~FlowNetwork() override;

  void send(const Message& message) override;
  Bytes injected() const override;
  Bytes delivered() const override;
  // A communication is counted when it ends; `busy` is the time that its bytes take at full bandwidth.
  std::vector<LinkUse> use() const override;
  std::uint64_t communications() const;

 private:
  friend void run_with_simgrid(RunLoop& loop, FlowNetwork& network);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs the loop inside SimGrid's engine until neither has events left. Rethrows exceptions of events.
void run_with_simgrid(RunLoop& loop, FlowNetwork& network);

}  // namespace moire::core::flow
