// Sums in the switches of a fabric (in-network reduction), on top of a network that carries messages.
//
// The members of a group (NICs) send messages to the address of the group. The first messages that the members send
// with one flow number belong together, then the second messages, and so on. The switches add the messages that belong
// together, and every member gets the sum, as if its own message arrived. The switches above the members form a
// tree. A message is cut into pieces of `piece` bytes. When a switch has got the same piece from all members and
// switches below it, it sends the sum of the piece to the switch above. The root sends the sum down to all members.
// Each piece is a message of the underlying network, so pieces share the links with all other traffic. The network has
// to serve a piece in one turn of a port.
//
// A switch adds a piece while the piece arrives from the inputs (the members and switches below it). At time t, the
// first byte of every input has arrived; at time T, the last byte of every input. At time `free`, the switch has ended
// its last addition for this group and flow number. Then
//     start = max(t, free),  new `free` = start + bytes / rate,  last byte of the sum = max(new `free`, T) + latency
// where `rate` and `latency` are those of ReductionSpec. Without other traffic, a message of one piece over L levels of
// switches takes
//     sum of the link latencies up and down + L x latency + bytes / min(slowest link, rate)
// if links between switches are as fast as ports. A link that is faster than a port carries a piece without a gap, so
// it starts later: each byte must have arrived when the link needs it. This adds at most the time that the piece takes
// at a port.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/hardware/fabric/fabric.hpp"
#include "sim/core/calendar.hpp"

namespace moire::fabric {

class Sums final : public core::Network, private core::Receiver, private core::EventSink {
 public:
  // Addresses of groups, in the order of add_group; all other destinations are endpoints.
  static constexpr core::EndpointId first_group = 1U << 30;

  // `fabric` must have a reduction and outlive this object. `images`: number of identical blocks of nodes, of which one
  // is simulated; 1 without folding.
  Sums(core::Calendar& calendar, const Fabric& fabric, std::unique_ptr<core::Network> network, Bytes piece,
       std::uint32_t images);
  void add_group(std::vector<core::EndpointId> members) { groups_.push_back(std::move(members)); }

  // Sends a message to an endpoint or to the address of a group. Throws core::NotAlike for a message to a group if only
  // one of several blocks is simulated, because the sum needs the messages of all blocks.
  void send(const core::Message& message) override;
  // injected() and delivered() count a piece once for each transfer between a NIC and a switch or between two switches.
  Bytes injected() const override { return network_->injected(); }
  Bytes delivered() const override { return network_->delivered(); }
  std::vector<core::LinkUse> use() const override { return network_->use(); }

 private:
  using Index = std::uint32_t;
  static constexpr Index none = UINT32_MAX;

  // A FIFO queue that takes little memory when it is empty. A Point has six queues, and an empty std::deque would take
  // half a kilobyte.
  template <class T>
  class Fifo {
   public:
    std::size_t size() const { return items_.size() - first_; }
    T& operator[](std::size_t place) { return items_[first_ + place]; }
    void push(T item) { items_.push_back(std::move(item)); }
    T pop() {
      T item = std::move(items_[first_++]);
      if (first_ == items_.size()) {
        items_.clear();
        first_ = 0;
      } else if (2 * first_ > items_.size() && first_ >= 16) {
        items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(std::exchange(first_, 0)));
      }
      return item;
    }

   private:
    std::vector<T> items_;
    std::size_t first_ = 0;
  };

  // A message of a member whose sum has not arrived yet.
  struct Own {
    core::Receiver* receiver;
    std::uint64_t payload;
    Time after;
    std::int64_t pieces;
  };
  // A piece that a switch has got from some, but not all, of its inputs (the members and switches below it).
  struct Partial {
    std::size_t missing;  // number of inputs from which the piece has not arrived
    double bytes;
    Time head, tail;  // arrival of the first and the last byte, each the latest of all inputs
  };
  // A member or switch in the tree of one group and flow.
  struct Point {
    core::EndpointId at;
    std::uint32_t flow;  // flow number of its messages in the underlying network
    Index above = none;  // none: the root
    std::vector<Index> below{};
    double up_ps = 0, down_ps = 0;  // picoseconds per byte on the link to the switch above, and on the link from it
    Fifo<double> up{}, down{};      // bytes of the pieces that are on these two links
    std::int64_t counted = 0;       // pieces of this point that have reached the switch above
    // Of a member:
    Fifo<Own> own{};
    // Of a switch:
    Fifo<Partial> partial{};
    std::int64_t summed = 0;              // pieces that it has summed and that are no longer in `partial`
    Time free{};                          // end of its last addition, without the latency
    Fifo<double> to_above{}, to_below{};  // bytes of the pieces whose sending is scheduled
    Time sent_up{}, sent_down{};          // when the last piece in to_above and in to_below is sent
  };

  void arrives(std::uint64_t payload, Time at) override;
  void fire(std::uint64_t payload) override;
  Index first_point(std::uint32_t group, std::uint32_t flow);
  void send_up(Index point, double bytes);
  void send_down(Index point, double bytes);
  void add(Index point, Time at);  // called when a piece from the point has reached the switch above
  void pass_on(Index point, double bytes, Time head, Time tail, bool up);

  core::Calendar& calendar_;
  const Fabric& fabric_;
  std::unique_ptr<core::Network> network_;
  double piece_;
  std::uint32_t images_;
  std::vector<std::vector<core::EndpointId>> groups_;
  std::unordered_map<std::uint64_t, Index> first_points_;  // of the members, by group and flow
  std::vector<Point> points_;
  std::uint32_t flows_ = 0;
};

}  // namespace moire::fabric
