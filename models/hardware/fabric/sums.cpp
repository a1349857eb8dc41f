#include "models/hardware/fabric/sums.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"

namespace moire::fabric {

namespace {

std::uint64_t pack(std::uint32_t point, bool up) { return std::uint64_t{point} << 1 | (up ? 1 : 0); }

Time service(double bytes, double ps_per_byte) { return Time::from_ps(std::ceil(bytes * ps_per_byte)); }

}  // namespace

Sums::Sums(core::Calendar& calendar, const Fabric& fabric, std::unique_ptr<core::Network> network, Bytes piece,
           std::uint32_t images)
    : calendar_(calendar), fabric_(fabric), network_(std::move(network)), piece_(piece.value), images_(images) {}

// Returns the index of the first member in the tree of a group and flow. Builds the tree on first use.
Sums::Index Sums::first_point(std::uint32_t group, std::uint32_t flow) {
  MOIRE_INVARIANT(group < groups_.size(), "a message to a group that does not exist");
  const auto first = static_cast<Index>(points_.size());
  const auto [found, is_new] = first_points_.try_emplace(std::uint64_t{group} << 32 | flow, first);
  if (!is_new) return found->second;
  const std::uint32_t own_flow = flows_++;
  for (const core::EndpointId member : groups_[group]) points_.push_back({.at = member, .flow = own_flow});
  std::vector<core::LinkId> way;
  const auto ps = [&](core::EndpointId from, core::EndpointId to) {
    way.clear();
    fabric_.route(from, to, own_flow, way);
    return 1e12 / fabric_.links()[way.front()].bandwidth.value;
  };
  // Adds the switches level by level, until one switch is above all members.
  for (Index begin = first, end = static_cast<Index>(points_.size()); end - begin > 1 || begin == first;) {
    std::map<core::EndpointId, Index> switches;
    for (Index below = begin; below < end; ++below) {
      const core::EndpointId at = fabric_.above(points_[below].at, group);
      const auto [above, is_first] = switches.try_emplace(at, static_cast<Index>(points_.size()));
      if (is_first) points_.push_back({.at = at, .flow = own_flow});
      points_[below].above = above->second;
      points_[below].up_ps = ps(points_[below].at, at);
      points_[below].down_ps = ps(at, points_[below].at);
      points_[above->second].below.push_back(below);
    }
    begin = end;
    end = static_cast<Index>(points_.size());
  }
  return first;
}

void Sums::send(const core::Message& message) {
  if (message.destination < first_group) return network_->send(message);
  if (images_ > 1) throw core::NotAlike("switches add up what all nodes send");
  const std::uint32_t group = message.destination - first_group;
  const Index first = first_point(group, message.flow);
  const std::vector<core::EndpointId>& members = groups_[group];
  const auto place = std::lower_bound(members.begin(), members.end(), message.source);
  MOIRE_INVARIANT(place != members.end() && *place == message.source, "a message to a group from outside");
  const Index member = first + static_cast<Index>(place - members.begin());
  const auto pieces = static_cast<std::int64_t>(std::ceil(message.bytes.value / piece_));
  points_[member].own.push({message.receiver, message.payload, message.after, pieces});
  for (std::int64_t i = 0; i < pieces; ++i)
    send_up(member, std::min(piece_, message.bytes.value - static_cast<double>(i) * piece_));
}

void Sums::send_up(Index index, double bytes) {
  Point& point = points_[index];
  point.up.push(bytes);
  network_->send({point.at, points_[point.above].at, point.flow, Bytes{bytes}, this, pack(index, true)});
}

void Sums::send_down(Index index, double bytes) {
  Point& point = points_[index];
  point.down.push(bytes);
  network_->send({points_[point.above].at, point.at, point.flow, Bytes{bytes}, this, pack(index, false)});
}

void Sums::arrives(std::uint64_t payload, Time at) {
  const auto index = static_cast<Index>(payload >> 1);
  if ((payload & 1) == 1) return add(index, at);
  Point& point = points_[index];
  const double bytes = point.down.pop();
  if (!point.below.empty()) return pass_on(index, bytes, at - service(bytes, point.down_ps), at, false);
  if (--point.own[0].pieces > 0) return;
  const Own own = point.own.pop();
  own.receiver->arrives(own.payload, at + own.after);
}

void Sums::add(Index index, Time at) {
  Point& from = points_[index];
  Point& sum = points_[from.above];
  const double bytes = from.up.pop();
  const auto place = static_cast<std::size_t>(from.counted++ - sum.summed);
  if (place == sum.partial.size()) sum.partial.push({sum.below.size(), bytes, {}, {}});
  Partial& piece = sum.partial[place];
  MOIRE_INVARIANT(piece.bytes == bytes, "switches add up messages of different sizes");
  piece.head = std::max(piece.head, at - service(bytes, from.up_ps));
  piece.tail = std::max(piece.tail, at);
  if (--piece.missing > 0) return;
  const ReductionSpec& spec = *fabric_.reduction();
  sum.free = std::max(piece.head, sum.free) + duration(Bytes{bytes}, spec.rate);
  const Time tail = std::max(sum.free, piece.tail) + spec.latency;
  const Time head = piece.head;
  sum.partial.pop();
  ++sum.summed;
  pass_on(from.above, bytes, head, tail, sum.above != none);
}

// Schedules the sending of a piece to the switch above (`up`) or to all members and switches below. The first byte of
// the piece is in the switch at `head`, and its last byte at `tail`. The switch sends no byte before the byte is there.
void Sums::pass_on(Index index, double bytes, Time head, Time tail, bool up) {
  Point& point = points_[index];
  double fastest = point.up_ps;
  if (!up) {
    fastest = points_[point.below.front()].down_ps;
    for (const Index below : point.below) fastest = std::min(fastest, points_[below].down_ps);
  }
  Time& sent = up ? point.sent_up : point.sent_down;
  sent = std::max({calendar_.now(), head, sent, tail - service(bytes, fastest)});
  (up ? point.to_above : point.to_below).push(bytes);
  calendar_.schedule(sent, *this, pack(index, up));
}

void Sums::fire(std::uint64_t payload) {
  const auto index = static_cast<Index>(payload >> 1);
  const bool up = (payload & 1) == 1;
  const double bytes = (up ? points_[index].to_above : points_[index].to_below).pop();
  if (up) return send_up(index, bytes);
  for (const Index below : points_[index].below) send_down(below, bytes);
}

}  // namespace moire::fabric
