// The event calendar: what happens when, in an order that is the same on every machine.
//
// Events fire by (time, component, sequence): ties at one picosecond go to the component that was registered first,
// then to the event that was scheduled first. No address and no wall clock takes part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::core {

// Whoever acts when an event fires. `payload` is what it gave when it scheduled the event.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void fire(std::uint64_t payload) = 0;
  // The event fires after the present one, which takes longer than a miss of the caches: what it begins with may be
  // fetched meanwhile. Changes nothing.
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
  // Events of one component at one picosecond, in the order in which they were scheduled. The heap orders these lists,
  // not events: where many ranks do the same at the same time, most events find the list of their instant among the
  // recent ones and cost no search. A list that has left the table of recent ones gets no more events; later events of the
  // same instant go into a new list, which the heap orders behind the old one.
  struct List {
    Time at;
    std::uint32_t component = 0;
    EventId first = none, last = none;
    std::uint32_t position = 0;  // in heap_
  };
  struct Entry {
    Time at;
    std::uint64_t sequence = 0;  // of the list
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
  std::size_t empty_ = 0;    // lists in heap_ that have become empty; never the first one, but while an event fires
  std::vector<Entry> heap_;  // 4-ary: half the cache misses of a binary heap
  std::vector<List> lists_;
  std::vector<std::uint32_t> free_lists_;
  std::vector<Slot> slots_;
  std::vector<EventId> free_;
  std::array<std::uint32_t, recent_lists> recent_{};  // lists by a hash of their time
};

}  // namespace moire::core
