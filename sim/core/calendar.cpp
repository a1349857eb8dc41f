#include "sim/core/calendar.hpp"

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"

namespace moire::core {

namespace {
constexpr std::uint32_t arity = 4;
}

Calendar::EventId Calendar::schedule(Time at, EventSink& sink, std::uint64_t payload, std::uint32_t component) {
  MOIRE_INVARIANT(at >= now_, "an event was scheduled in the past");
  if (at == Time::max()) throw EndOfTime();
  EventId id;
  if (free_.empty()) {
    id = static_cast<EventId>(slots_.size());
    slots_.push_back({&sink, payload, 0});
  } else {
    id = free_.back();
    free_.pop_back();
    slots_[id] = {&sink, payload, 0};
  }
  heap_.push_back({at, sequence_++, component, id});
  sift_up(static_cast<std::uint32_t>(heap_.size() - 1));
  return id;
}

void Calendar::reschedule(EventId id, Time at) {
  MOIRE_INVARIANT(at >= now_, "an event was moved into the past");
  if (at == Time::max()) throw EndOfTime();
  MOIRE_INVARIANT(pending(id), "an event that is not pending was moved");
  const std::uint32_t position = slots_[id].position;
  const bool earlier = at < heap_[position].at;
  heap_[position].at = at;
  heap_[position].sequence = sequence_++;
  if (earlier) {
    sift_up(position);
  } else {
    sift_down(position);
  }
}

void Calendar::cancel(EventId id) {
  MOIRE_INVARIANT(pending(id), "an event that is not pending was cancelled");
  remove_at(slots_[id].position);
  slots_[id].sink = nullptr;
  free_.push_back(id);
}

void Calendar::step() {
  const Entry first = heap_.front();
  remove_at(0);
  now_ = first.at;
  ++fired_;
  const Slot slot = slots_[first.id];
  slots_[first.id].sink = nullptr;
  free_.push_back(first.id);
  slot.sink->fire(slot.payload);
}

void Calendar::advance_to(Time t) {
  MOIRE_INVARIANT(t >= now_ && (heap_.empty() || t <= heap_.front().at), "the clock was moved past a pending event");
  now_ = t;
}

void Calendar::place(std::uint32_t position, const Entry& entry) {
  heap_[position] = entry;
  slots_[entry.id].position = position;
}

void Calendar::sift_up(std::uint32_t position) {
  const Entry moving = heap_[position];
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / arity;
    if (!moving.before(heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, moving);
}

void Calendar::sift_down(std::uint32_t position) {
  const Entry moving = heap_[position];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  while (true) {
    const std::uint32_t first = position * arity + 1;
    if (first >= size) break;
    std::uint32_t best = first;
    for (std::uint32_t child = first + 1; child < size && child < first + arity; ++child) {
      if (heap_[child].before(heap_[best])) best = child;
    }
    if (!heap_[best].before(moving)) break;
    place(position, heap_[best]);
    position = best;
  }
  place(position, moving);
}

void Calendar::remove_at(std::uint32_t position) {
  const Entry last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return;
  const bool up = last.before(heap_[position]);
  heap_[position] = last;
  slots_[last.id].position = position;
  if (up) {
    sift_up(position);
  } else {
    sift_down(position);
  }
}

}  // namespace moire::core
