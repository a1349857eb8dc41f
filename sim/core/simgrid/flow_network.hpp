// The scale-out network as SimGrid flows: concurrent messages share every link max-min fairly.
//
// A message is one SimGrid communication. The messages of a channel (one source, destination and flow) follow each
// other. A message without other traffic takes the sum of latencies + bytes / smallest bandwidth, as in QueueNetwork.
// SimGrid carries only the bytes; the latency of the path is added at the end, so that successive communications of a
// channel leave no gap on the wire.
//
// SimGrid weights flows on a link by 1 / route latency. Here every route has the same nominal latency, so shares are
// equal. SimGrid's clock is a double in seconds. Times are rounded to the nearest picosecond, and no delivery is before
// the present time of Moire's clock. The two clocks differ by less than 1 ps while a run is shorter than an hour (2^-53
// x 3600 s < 0.5 ps). A communication carries whole bytes (rounded up) and adds 1 ps of latency. A completion may be up
// to 1 ps early, because SimGrid's time precision is 1 ps.
//
// A process can have only one FlowNetwork, because SimGrid's engine is a process-wide singleton that keeps its clock. A
// second FlowNetwork throws InvariantError, even after the first is destroyed. Run each simulation in its own process.
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
  // A communication counts when it ends. `busy` is the time that the carried bytes take at full bandwidth.
  std::vector<LinkUse> use() const override;
  std::uint64_t communications() const;

 private:
  friend void run_with_simgrid(RunLoop& loop, FlowNetwork& network);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs the loop inside SimGrid's engine until neither the loop nor the engine has events left. Rethrows exceptions of
// events.
void run_with_simgrid(RunLoop& loop, FlowNetwork& network);

}  // namespace moire::core::flow
