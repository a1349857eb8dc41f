// Sums in the switches of a fabric (in-network reduction), on top of a network that carries messages.
//
// The n-th message that a member of a group sends to the address of its group, with one flow number, is added to the
// n-th messages of the other members, and the sum goes to all of them; it arrives as the member's own message would.
// The switches above the members form a tree. A message is cut into pieces of `piece` bytes. A switch that has a piece
// of everything below it sends the sum on: to the switch above, or from the root down to all members. Each piece is a
// message of the network below, which has to serve it in one turn, so that links are shared with all other traffic.
//
// A switch adds a piece while it comes in: if the heads of all inputs are there at time t and the last tail at T,
//     start = max(t, free),  free = start + bytes / rate,  tail of the sum = max(free, T) + latency
// A message of one piece over L levels of switches, alone, takes
//     sum of the latencies up and down + L x latency + bytes / slowest link or rate
// if links between switches are as fast as ports. Over a faster one a piece goes in one go, which adds at most the time
// that it takes at a port.
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

  // `fabric` must have a reduction and outlive this. `images`: as in part::Site.
  Sums(core::Calendar& calendar, const Fabric& fabric, std::unique_ptr<core::Network> network, Bytes piece,
       std::uint32_t images);
  void add_group(std::vector<core::EndpointId> members) { groups_.push_back(std::move(members)); }

  // Throws core::NotAlike for a message to a group if only one of several blocks is simulated.
  void send(const core::Message& message) override;
  // Every way of a piece from a NIC or switch to the next counts.
  Bytes injected() const override { return network_->injected(); }
  Bytes delivered() const override { return network_->delivered(); }
  std::vector<core::LinkUse> use() const override { return network_->use(); }

 private:
  using Index = std::uint32_t;
  static constexpr Index none = UINT32_MAX;

  // A std::deque takes half a kilobyte when it is empty.
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

  // A member's message whose sum has not arrived.
  struct Own {
    core::Receiver* receiver;
    std::uint64_t payload;
    Time after;
    std::int64_t pieces;
  };
  // A piece of which a switch has some inputs.
  struct Partial {
    std::size_t missing;
    double bytes;
    Time head, tail;  // latest of all inputs
  };
  // A member or switch in the tree of one group and flow.
  struct Point {
    core::EndpointId at;
    std::uint32_t flow;  // of its messages in the network below
    Index above = none;  // none: the root
    std::vector<Index> below{};
    double up_ps = 0, down_ps = 0;  // per byte, of the link to the switch above and from it
    Fifo<double> up{}, down{};      // bytes of the pieces on these links
    std::int64_t counted = 0;       // pieces of this point that have reached the switch above
    // Of a member:
    Fifo<Own> own{};
    // Of a switch:
    Fifo<Partial> partial{};
    std::int64_t summed = 0;              // pieces before those in `partial`
    Time free{};                          // end of the last sum
    Fifo<double> to_above{}, to_below{};  // bytes of the pieces that wait until they are sent
    Time sent_up{}, sent_down{};          // when the last of them is sent
  };

  void arrives(std::uint64_t payload, Time at) override;
  void fire(std::uint64_t payload) override;
  Index first_point(std::uint32_t group, std::uint32_t flow);
  void send_up(Index point, double bytes);
  void send_down(Index point, double bytes);
  void add(Index point, Time at);  // a piece of the point has reached the switch above
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
