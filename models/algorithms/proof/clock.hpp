// A vector clock describes a moment in the run of an algorithm. It holds a time for each agent (a thread block, the
// proxy of a port channel, or the call of a GPU). All events of the agent up to this time happened before the moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace moire::proof {

class Clock {
 public:
  Clock() = default;
  explicit Clock(std::size_t agents) : times_(agents) {}

  std::uint32_t of(std::size_t agent) const { return agent < times_.size() ? times_[agent] : 0; }
  void set(std::size_t agent, std::uint32_t time) { times_[agent] = time; }
  bool empty() const { return times_.empty(); }
  void join(const Clock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    for (std::size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<std::uint32_t> times_;
};

// What an agent knows about the past of all agents. `visible`: the writes of an agent up to its time in this clock have
// arrived and can be read. `over`: the accesses of an agent up to its time in this clock have been made, but the writes
// among them may not have arrived yet. A relaxed signal or the flag of a packet only raises `over`.
struct Knowledge {
  Clock visible;
  Clock over;

  void join(const Knowledge& other) {
    visible.join(other.visible);
    over.join(other.over);
  }
};

}  // namespace moire::proof
