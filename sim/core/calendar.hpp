// The event calendar: what happens when, in an order that is the same on every machine.
//
// Events fire by (time, component, sequence): ties at one picosecond go to the component that was registered first,
// then to the event that was scheduled first. No address and no wall clock takes part.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::core {

// Whoever acts when an event fires. `payload` is what it gave when it scheduled the event.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void fire(std::uint64_t payload) = 0;

 protected:
  EventSink() = default;
  EventSink(const EventSink&) = default;
  EventSink& operator=(const EventSink&) = default;
};

class Calendar {
 public:
  using EventId = std::uint32_t;
  static constexpr EventId none = UINT32_MAX;

  Time now() const { return now_; }
  bool empty() const { return heap_.empty(); }
  Time next_time() const { return heap_.front().at; }
  std::uint64_t fired() const { return fired_; }

  // Schedules one event; it is forgotten once it fires. `component` breaks ties. Throws InvariantError if at < now,
  // EndOfTime if there is no such date.
  EventId schedule(Time at, EventSink& sink, std::uint64_t payload, std::uint32_t component = 0);
  // Moves a pending event; it then orders behind events already scheduled for that time by the same component.
  void reschedule(EventId id, Time at);
  void cancel(EventId id);

  // Fires the earliest event. The calendar must not be empty.
  void step();
  // Moves the clock forward without an event (an outer engine keeps its own clock).
  void advance_to(Time t);

 private:
  struct Entry {
    Time at;
    std::uint64_t sequence = 0;
    std::uint32_t component = 0;
    EventId id = none;
    bool before(const Entry& o) const {
      if (at != o.at) return at < o.at;
      if (component != o.component) return component < o.component;
      return sequence < o.sequence;
    }
  };
  struct Slot {
    EventSink* sink;  // null while the slot is free
    std::uint64_t payload;
    std::uint32_t position;  // in heap_
  };

  bool pending(EventId id) const { return id < slots_.size() && slots_[id].sink != nullptr; }
  void place(std::uint32_t position, const Entry& entry);
  void sift_up(std::uint32_t position);
  void sift_down(std::uint32_t position);
  void remove_at(std::uint32_t position);

  Time now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t fired_ = 0;
  std::vector<Entry> heap_;  // 4-ary: half the cache misses of a binary heap
  std::vector<Slot> slots_;
  std::vector<EventId> free_;
};

}  // namespace moire::core
