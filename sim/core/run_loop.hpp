// Runs a calendar instant by instant: first all events of one picosecond, then the settlers, which see the final state
// of the instant. Replacing a workgroup by another in the same picosecond therefore changes nothing.
#pragma once

#include <vector>

#include "sim/core/calendar.hpp"
#include "sim/core/pulse.hpp"

namespace moire::core {

// Acts on the state at the end of an instant (sharing recomputes rates, networks start messages). May schedule events.
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
  // Settlers run in the order they were added.
  void add(Settler& settler) { settlers_.push_back(&settler); }
  // Runs before all settlers added so far, for a settler that changes what the others act on.
  void add_first(Settler& settler) { settlers_.insert(settlers_.begin(), &settler); }

  bool idle() const { return calendar_.empty(); }
  Time next_time() const { return calendar_.next_time(); }
  // Runs all events of the earliest instant and the settlers, until nothing is left at that time. Must not be idle.
  void run_instant();
  // Runs until the calendar is empty.
  void run();
  // Runs the settlers once at the present time, which starts what was set up before the first event.
  void settle();
  std::uint64_t instants() const { return instants_; }
  // Where to publish progress; null: nowhere.
  void tell(Pulse* pulse) { pulse_ = pulse; }
  Pulse* pulse() const { return pulse_; }

 private:
  Calendar calendar_;
  std::vector<Settler*> settlers_;
  std::uint64_t instants_ = 0;
  Pulse* pulse_ = nullptr;
};

}  // namespace moire::core
