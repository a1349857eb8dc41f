// A vector clock holds a time for each agent: all events of the agent up to this time have happened before.
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

// What an agent knows about the past of other agents. `visible`: their writes up to this time can be read. `over`:
// their reads up to this time are done, but their writes may not have arrived yet. A relaxed signal or the flag of a
// packet only raises `over`.
struct Knowledge {
  Clock visible;
  Clock over;

  void join(const Knowledge& other) {
    visible.join(other.visible);
    over.join(other.over);
  }
};

}  // namespace moire::proof
