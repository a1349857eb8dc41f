// The scale-out network as the models see it: messages between endpoints over a topology of links.
//
// Two implementations serve the same topology: QueueNetwork (chunks wait FIFO at every port, inside our own calendar,
// no solver: what large studies use) and the SimGrid flow network (max-min shared flows). docs/explanation/network.md
// states how far they may differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/calendar.hpp"
#include "sim/core/quantity.hpp"

namespace moire::core {

using EndpointId = std::uint32_t;
using LinkId = std::uint32_t;

// One direction of one cable or port. bandwidth is what payload can use (encoding and headers taken off).
struct NetworkLink {
  std::string name;
  BytesPerSecond bandwidth;
  Time latency;
};

// Endpoints (NICs), links and the path between any two endpoints.
class Topology {
 public:
  virtual ~Topology() = default;
  virtual std::uint32_t endpoints() const = 0;
  virtual const std::vector<NetworkLink>& links() const = 0;
  // Appends the links from source to destination in order. `flow` lets static multi-path routing spread queue pairs.
  virtual void route(EndpointId source, EndpointId destination, std::uint32_t flow,
                     std::vector<LinkId>& path) const = 0;
  // Beside which endpoint a link stands: messages that come to it at once are ordered by where their ends are from
  // there, which says the same beside every endpoint.
  virtual EndpointId home(LinkId link) const = 0;
  // Is the topology the same, routes too, when every endpoint takes the place of the one `by` places on (the last ones
  // that of the first ones)? But for routes through links that stay where they are.
  virtual bool turns(EndpointId /*by*/) const { return false; }
  // Where it is: the link that takes the place of `link`; itself where it stays.
  virtual LinkId turned(LinkId link, EndpointId /*by*/) const { return link; }
};

// A message is delivered when its last byte has arrived; `after` that comes sink->fire(payload). bytes >= 1.
struct Message {
  EndpointId source = 0;
  EndpointId destination = 0;
  std::uint32_t flow = 0;  // queue pair: messages of one (source, destination, flow) arrive in order
  Bytes bytes;
  EventSink* sink = nullptr;
  std::uint64_t payload = 0;
  Time after{};
};

struct LinkUse {
  Bytes carried;
  Time busy;  // time in which the link was transmitting
};

class Network {
 public:
  virtual ~Network() = default;
  virtual void send(const Message& message) = 0;
  virtual Bytes injected() const = 0;
  virtual Bytes delivered() const = 0;
  // Per link, in the topology's order; what flowed until now.
  virtual std::vector<LinkUse> use() const = 0;
};

}  // namespace moire::core
