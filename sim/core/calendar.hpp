// The event calendar: fires events in an order that is the same on every machine.
//
// Events fire in the order of their times. A component is a number that the caller of schedule() chooses. Among events
// of the same time, those with the lowest component fire first. Among events of the same time and component, the event
// that was scheduled first fires first. The order never depends on memory addresses or on the wall clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::core {

// Receives events. `payload` is the value that was passed to schedule().
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void fire(std::uint64_t payload) = 0;
  // A hint to prefetch data: the event with this payload is the next to fire. Implementations must not change any
  // state.
  virtual void fires_next(std::uint64_t /*payload*/) const {}

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
  bool empty() const { return pending_ == 0; }
  Time next_time() const { return heap_.front().at; }
  std::uint64_t fired() const { return fired_; }

  // Schedules one event and returns its id, which is reused after the event has fired. `component` orders events of
  // the same time. Throws InvariantError if at < now(), and EndOfTime if `at` is beyond the range of Time.
  EventId schedule(Time at, EventSink& sink, std::uint64_t payload, std::uint32_t component = 0);
  // Moves a pending event to `at`. It then fires after all events that its component has already scheduled for `at`.
  void reschedule(EventId id, Time at);
  void cancel(EventId id);

  // Fires the earliest event. The calendar must not be empty.
  void step();
  // Moves the clock forward to `t` without firing an event. No event may be due before `t`.
  void advance_to(Time t);

 private:
  // Events of one component at one picosecond, in the order in which they were scheduled. The heap contains these lists
  // and not single events. If many ranks do the same at the same time, most events find an existing list in the table
  // `recent_`, without a search. A list that is no longer in this table gets no more events. Later events of the same
  // picosecond go into a new list, which the heap orders after the old list.
  struct List {
    Time at;
    std::uint32_t component = 0;
    EventId first = none, last = none;
    std::uint32_t position = 0;  // index in heap_
  };
  struct Entry {
    Time at;
    std::uint64_t sequence = 0;  // orders lists with the same time and component
    std::uint32_t component = 0;
    std::uint32_t list = 0;
    bool before(const Entry& o) const {
      if (at != o.at) return at < o.at;
      if (component != o.component) return component < o.component;
      return sequence < o.sequence;
    }
  };
  struct Slot {
    EventSink* sink;  // null while the slot is free
    std::uint64_t payload;
    EventId next, previous;
    std::uint32_t list;
  };
  static constexpr std::size_t recent_lists = 1024;

  bool pending(EventId id) const { return id < slots_.size() && slots_[id].sink != nullptr; }
  void append(EventId id, Time at, std::uint32_t component);
  void unlink(EventId id);
  std::uint32_t& recent(Time at, std::uint32_t component);
  bool is_of(std::uint32_t list, Time at, std::uint32_t component) const;
  std::uint32_t list_of(Time at, std::uint32_t component);
  std::uint32_t new_list(Time at, std::uint32_t component);
  void release(std::uint32_t list);
  void drop_empty_front();
  void drop_empty();
  void place(std::size_t position, const Entry& entry);
  void sift_up(std::size_t position);
  void sift_down(std::size_t position);

  Time now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t fired_ = 0;
  std::size_t pending_ = 0;
  std::size_t empty_ = 0;    // number of empty lists in heap_; the front list is empty only while an event fires
  std::vector<Entry> heap_;  // a 4-ary heap, because it has half the cache misses of a binary heap
  std::vector<List> lists_;
  std::vector<std::uint32_t> free_lists_;
  std::vector<Slot> slots_;
  std::vector<EventId> free_;
  std::array<std::uint32_t, recent_lists> recent_{};  // lists by a hash of their time and component
};

}  // namespace moire::core
