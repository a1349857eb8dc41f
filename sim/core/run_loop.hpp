// Runs a calendar instant by instant. An instant is one picosecond. First all events of an instant run, then the
// settlers (class Settler), which see the state after these events. Therefore a workgroup that replaces another
// workgroup in the same picosecond changes no rates.
#pragma once

#include <vector>

#include "sim/core/calendar.hpp"
#include "sim/core/pulse.hpp"

namespace moire::core {

// Acts on the state at the end of an instant: Sharing recomputes rates, networks start messages. A settler may schedule
// events.
class Settler {
 public:
  virtual ~Settler() = default;
  virtual void settle() = 0;

 protected:
  Settler() = default;
  Settler(const Settler&) = default;
  Settler& operator=(const Settler&) = default;
};

class RunLoop {
 public:
  Calendar& calendar() { return calendar_; }
  Time now() const { return calendar_.now(); }
  // Settlers run in the order in which they were added.
  void add(Settler& settler) { settlers_.push_back(&settler); }
  // Adds a settler that runs before all settlers added so far, because it changes the state that they act on.
  void add_first(Settler& settler) { settlers_.insert(settlers_.begin(), &settler); }

  bool idle() const { return calendar_.empty(); }
  Time next_time() const { return calendar_.next_time(); }
  // Runs all events of the earliest instant, then the settlers, and repeats both until no event of this instant is
  // left. The loop must not be idle.
  void run_instant();
  // Runs until the calendar is empty.
  void run();
  // Runs the settlers once at the present time. This starts activities and messages that were created before the first
  // event.
  void settle();
  std::uint64_t instants() const { return instants_; }
  // Publishes the progress of the run in `pulse`; null publishes nothing.
  void tell(Pulse* pulse) { pulse_ = pulse; }
  Pulse* pulse() const { return pulse_; }

 private:
  Calendar calendar_;
  std::vector<Settler*> settlers_;
  std::uint64_t instants_ = 0;
  Pulse* pulse_ = nullptr;
};

}  // namespace moire::core
