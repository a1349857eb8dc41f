// The interface of the scale-out network, which carries messages between endpoints over a topology of links.
//
// Two implementations serve the same topology. QueueNetwork queues chunks first in, first out at every port and needs
// only Moire's calendar, without a solver; large studies use it. FlowNetwork, which SimGrid computes, shares links
// max-min fairly. docs/explanation/network.md states how far the results of the two may differ.
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
  // Appends the links of the path from `source` to `destination`, in order. `flow` is the number of the queue pair, by
  // which static multi-path routing chooses among paths. Numbers from endpoints() on are switches; a topology may have
  // routes from and to switches too.
  virtual void route(EndpointId source, EndpointId destination, std::uint32_t flow,
                     std::vector<LinkId>& path) const = 0;
  // Returns the number of routes among which the packets of one queue pair alternate. If this number is above 1, the
  // argument `flow` of route() is the number of a route. All routes of a queue pair begin with the same link and have
  // the same number of links.
  virtual std::uint32_t routes(EndpointId /*source*/, EndpointId /*destination*/) const { return 1; }
  // Returns the endpoint that a link belongs to. Messages that reach a link at the same time are ordered by the
  // positions of their source and destination, counted from this endpoint. So the order does not depend on which
  // endpoint is number 0.
  virtual EndpointId home(LinkId link) const = 0;
  // True if the topology and its routes stay the same when every endpoint e is replaced by endpoint e + by (modulo the
  // number of endpoints). Routes over links that turned() maps to themselves are exempt.
  virtual bool turns(EndpointId /*by*/) const { return false; }
  // True if the endpoints, in groups of `each` consecutive ones, may change places with each other in any way.
  virtual bool any_order(EndpointId /*each*/) const { return false; }
  // If turns(by) is true, returns the link that endpoint e + by uses where endpoint e uses `link`. Returns `link`
  // itself if all endpoints share `link`.
  virtual LinkId turned(LinkId link, EndpointId /*by*/) const { return link; }
};

// The receiver of messages. A network tells it the arrival time of a message as soon as this time is known, which may
// be long before the arrival.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Called once per message. `at` is the arrival time, now or later. Messages of one queue pair arrive in the order of
  // these calls.
  virtual void arrives(std::uint64_t payload, Time at) = 0;

 protected:
  Receiver() = default;
  Receiver(const Receiver&) = default;
  Receiver& operator=(const Receiver&) = default;
};

// A message of at least one byte. It counts as arrived when the time `after` has passed since its last byte arrived.
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
  // Returns the traffic of each link until now, in the order of Topology::links().
  virtual std::vector<LinkUse> use() const = 0;
};

}  // namespace moire::core
