#include "sim/core/flags.hpp"

#include <algorithm>

#include "sim/core/invariant.hpp"

namespace moire::core {

FlagId Flags::add(std::uint32_t count) {
  const FlagId first = size_;
  size_ += count;
  pages_.resize((std::size_t{size_} + page - 1) / page);
  return first;
}

void Flags::raise(FlagId id, std::int64_t by) {
  MOIRE_INVARIANT(by > 0, "a flag can only rise");
  Flag& flag = flag_of(id);
  flag.value += by;
  if (flag.value < flag.lowest) return;
  flag.lowest = INT64_MAX;
  std::uint32_t at = flag.first;
  flag.first = flag.last = none;
  while (at != none) {
    const Parked parked = parked_[at];
    if (parked.target <= flag.value) {
      free_.push_back(at);
      calendar_.schedule(calendar_.now() + parked.notice, *parked.sink, parked.payload, component_);
    } else {
      park(flag, at);
    }
    at = parked.next;
  }
}

void Flags::wait(FlagId id, std::int64_t target, Time notice, EventSink& sink, std::uint64_t payload) {
  MOIRE_INVARIANT(notice >= Time{}, "a waiter would learn of its flag before it rises");
  Flag& flag = flag_of(id);
  if (flag.value >= target) {
    calendar_.schedule(calendar_.now() + notice, sink, payload, component_);
    return;
  }
  std::uint32_t at;
  if (free_.empty()) {
    at = static_cast<std::uint32_t>(parked_.size());
    parked_.emplace_back();
  } else {
    at = free_.back();
    free_.pop_back();
  }
  parked_[at] = {target, notice, &sink, payload, none};
  park(flag, at);
}

void Flags::park(Flag& flag, std::uint32_t at) {
  parked_[at].next = none;
  (flag.last == none ? flag.first : parked_[flag.last].next) = at;
  flag.last = at;
  flag.lowest = std::min(flag.lowest, parked_[at].target);
}

std::vector<Flags::Waiter> Flags::waiting() const {
  std::vector<Waiter> all;
  for (std::size_t p = 0; p < pages_.size(); ++p) {
    if (!pages_[p]) continue;
    for (FlagId i = 0; i < page; ++i) {
      for (std::uint32_t at = (*pages_[p])[i].first; at != none; at = parked_[at].next) {
        const Parked& parked = parked_[at];
        all.push_back({static_cast<FlagId>(p * page + i), parked.target, parked.notice, parked.sink, parked.payload});
      }
    }
  }
  return all;
}

}  // namespace moire::core
