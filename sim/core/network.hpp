// The scale-out network as seen by the models: messages between endpoints over a topology of links.
//
// Two implementations serve the same topology. QueueNetwork queues chunks FIFO at every port inside our own calendar,
// without a solver; large studies use it. The SimGrid flow network shares links max-min fairly.
// docs/explanation/network.md states how far their results may differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/calendar.hpp"
#include "sim/core/quantity.hpp"

namespace moire::core {

using EndpointId = std::uint32_t;
using LinkId = std::uint32_t;

// One direction of a cable or port. `bandwidth` is for payload: encoding and headers are already deducted.
struct NetworkLink {
  std::string name;
  BytesPerSecond bandwidth;
  Time latency;
};

// Endpoints (NICs), links, and the path between any two endpoints.
class Topology {
 public:
  virtual ~Topology() = default;
  virtual std::uint32_t endpoints() const = 0;
  virtual const std::vector<NetworkLink>& links() const = 0;
  // Appends the links of the path in order. `flow` lets static multi-path routing spread queue pairs over paths. A
  // topology may also have routes from and to switches, whose numbers are endpoints() and above.
  virtual void route(EndpointId source, EndpointId destination, std::uint32_t flow,
                     std::vector<LinkId>& path) const = 0;
  // Number of routes that the packets of one queue pair take in turns. If there are several, route() takes the number
  // of the route in place of `flow`; they begin with the same link and have equally many.
  virtual std::uint32_t routes(EndpointId /*source*/, EndpointId /*destination*/) const { return 1; }
  // The endpoint that a link belongs to. Messages that reach a link at the same time are ordered by the positions of
  // their source and destination relative to it, so that the order does not depend on which endpoint is number 0.
  virtual EndpointId home(LinkId link) const = 0;
  // True if the topology and its routes are unchanged when every endpoint takes the place of the endpoint `by` further
  // on (modulo the number of endpoints). Routes over links that turned() maps to themselves are exempt.
  virtual bool turns(EndpointId /*by*/) const { return false; }
  // If turns(by): the link that takes the place of `link`, or `link` itself if it is shared by all.
  virtual LinkId turned(LinkId link, EndpointId /*by*/) const { return link; }
};

// Is told when a message arrives, as soon as that is known, which may be long before.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // `at` is now or later. Messages of one queue pair arrive in the order of these calls.
  virtual void arrives(std::uint64_t payload, Time at) = 0;

 protected:
  Receiver() = default;
  Receiver(const Receiver&) = default;
  Receiver& operator=(const Receiver&) = default;
};

// Arrives `after` the moment at which its last byte has. bytes >= 1.
struct Message {
  EndpointId source = 0;
  EndpointId destination = 0;
  std::uint32_t flow = 0;  // queue pair: messages with the same (source, destination, flow) arrive in order
  Bytes bytes;
  Receiver* receiver = nullptr;
  std::uint64_t payload = 0;
  Time after{};
};

struct LinkUse {
  Bytes carried;
  Time busy;  // total time in which the link transmitted
};

class Network {
 public:
  virtual ~Network() = default;
  virtual void send(const Message& message) = 0;
  virtual Bytes injected() const = 0;
  virtual Bytes delivered() const = 0;
  // Traffic until now per link, in the topology's order.
  virtual std::vector<LinkUse> use() const = 0;
};

}  // namespace moire::core
