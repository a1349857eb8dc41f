#include "sim/core/calendar.hpp"

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"

namespace moire::core {

namespace {
constexpr std::size_t arity = 4;
}

Calendar::EventId Calendar::schedule(Time at, EventSink& sink, std::uint64_t payload, std::uint32_t component) {
  MOIRE_INVARIANT(at >= now_, "an event was scheduled in the past");
  if (at == Time::max()) throw EndOfTime();
  EventId id;
  if (free_.empty()) {
    id = static_cast<EventId>(slots_.size());
    slots_.push_back({&sink, payload, none, none, 0});
  } else {
    id = free_.back();
    free_.pop_back();
    slots_[id] = {&sink, payload, none, none, 0};
  }
  append(id, at, component);
  return id;
}

void Calendar::reschedule(EventId id, Time at) {
  MOIRE_INVARIANT(at >= now_, "an event was moved into the past");
  if (at == Time::max()) throw EndOfTime();
  MOIRE_INVARIANT(pending(id), "an event that is not pending was moved");
  const std::uint32_t number = slots_[id].list;
  List& list = lists_[number];
  std::uint32_t& known = recent(at, list.component);
  if (list.first != list.last || is_of(known, at, list.component)) {
    unlink(id);
    append(id, at, list.component);
    return drop_empty();
  }
  // The event is alone in its list, so the list moves with it.
  known = number;
  list.at = at;
  Entry& entry = heap_[list.position];
  const bool earlier = at < entry.at;
  entry.at = at;
  entry.sequence = sequence_++;
  if (earlier) {
    sift_up(list.position);
  } else {
    sift_down(list.position);
  }
  drop_empty_front();
}

void Calendar::cancel(EventId id) {
  MOIRE_INVARIANT(pending(id), "an event that is not pending was cancelled");
  unlink(id);
  slots_[id].sink = nullptr;
  free_.push_back(id);
  drop_empty();
}

void Calendar::step() {
  const EventId id = lists_[heap_.front().list].first;
  now_ = heap_.front().at;
  ++fired_;
  unlink(id);
  Slot& fired = slots_[id];
  if (fired.next != none) {
    const Slot& next = slots_[fired.next];
    if (next.next != none) __builtin_prefetch(&slots_[next.next]);
    next.sink->fires_next(next.payload);
  }
  EventSink& sink = *fired.sink;
  fired.sink = nullptr;
  free_.push_back(id);
  sink.fire(fired.payload);
  drop_empty_front();
}

void Calendar::advance_to(Time t) {
  MOIRE_INVARIANT(t >= now_ && (empty() || t <= next_time()), "the clock was moved past a pending event");
  now_ = t;
}

void Calendar::append(EventId id, Time at, std::uint32_t component) {
  const std::uint32_t number = list_of(at, component);
  List& list = lists_[number];
  Slot& slot = slots_[id];
  slot.list = number;
  slot.next = none;
  slot.previous = list.last;
  if (list.first == none) {
    list.first = id;
    --empty_;
  } else {
    slots_[list.last].next = id;
  }
  list.last = id;
  ++pending_;
}

void Calendar::unlink(EventId id) {
  const Slot& slot = slots_[id];
  List& list = lists_[slot.list];
  (slot.previous == none ? list.first : slots_[slot.previous].next) = slot.next;
  (slot.next == none ? list.last : slots_[slot.next].previous) = slot.previous;
  if (list.first == none) ++empty_;
  --pending_;
}

std::uint32_t& Calendar::recent(Time at, std::uint32_t component) {
  // Fibonacci hashing: the factor is 2^64 / golden ratio.
  const std::uint64_t spread = (static_cast<std::uint64_t>(at.ps) + component) * 0x9E3779B97F4A7C15ULL;
  return recent_[spread >> 32 & (recent_lists - 1)];
}

bool Calendar::is_of(std::uint32_t list, Time at, std::uint32_t component) const {
  return list < lists_.size() && lists_[list].at == at && lists_[list].component == component;
}

std::uint32_t Calendar::list_of(Time at, std::uint32_t component) {
  std::uint32_t& known = recent(at, component);
  if (!is_of(known, at, component)) known = new_list(at, component);
  return known;
}

std::uint32_t Calendar::new_list(Time at, std::uint32_t component) {
  std::uint32_t number;
  if (free_lists_.empty()) {
    number = static_cast<std::uint32_t>(lists_.size());
    lists_.emplace_back();
  } else {
    number = free_lists_.back();
    free_lists_.pop_back();
  }
  lists_[number] = {at, component, none, none, 0};
  ++empty_;
  heap_.push_back({at, sequence_++, component, number});
  sift_up(heap_.size() - 1);
  return number;
}

void Calendar::release(std::uint32_t list) {
  lists_[list].at = Time::max();  // no event has this time, so is_of() never finds the list again
  free_lists_.push_back(list);
  --empty_;
}

void Calendar::drop_empty_front() {
  while (!heap_.empty() && lists_[heap_.front().list].first == none) {
    release(heap_.front().list);
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0);
  }
}

// Removes empty lists, with which frequent rescheduling would fill the heap.
void Calendar::drop_empty() {
  drop_empty_front();
  if (empty_ <= 64 + heap_.size() / 2) return;
  std::size_t kept = 0;
  for (const Entry& entry : heap_) {
    if (lists_[entry.list].first == none) {
      release(entry.list);
    } else {
      place(kept++, entry);
    }
  }
  heap_.resize(kept);
  for (std::size_t position = kept / arity + 1; position-- > 0;) {
    if (position < kept) sift_down(position);
  }
}

void Calendar::place(std::size_t position, const Entry& entry) {
  heap_[position] = entry;
  lists_[entry.list].position = static_cast<std::uint32_t>(position);
}

void Calendar::sift_up(std::size_t position) {
  const Entry moving = heap_[position];
  while (position > 0) {
    const std::size_t parent = (position - 1) / arity;
    if (!moving.before(heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, moving);
}

void Calendar::sift_down(std::size_t position) {
  const Entry moving = heap_[position];
  while (true) {
    const std::size_t first = position * arity + 1;
    if (first >= heap_.size()) break;
    std::size_t best = first;
    for (std::size_t child = first + 1; child < heap_.size() && child < first + arity; ++child) {
      if (heap_[child].before(heap_[best])) best = child;
    }
    if (!heap_[best].before(moving)) break;
    place(position, heap_[best]);
    position = best;
  }
  place(position, moving);
}

}  // namespace moire::core
