#include "sim/core/flags.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/pool.hpp"

namespace moire::core {

namespace {

// Appends entry `at` to a circular list. `last` is the index of the list's last entry, or `none` if the list is empty.
template <class Entry>
void append(std::vector<Entry>& pool, std::uint32_t& last, std::uint32_t none, std::uint32_t at) {
  if (last == none) {
    pool[at].next = at;
  } else {
    pool[at].next = pool[last].next;
    pool[last].next = at;
  }
  last = at;
}

// Removes the first entry of a circular list and returns its index, whose content stays until it is used again.
template <class Entry>
std::uint32_t take_first(std::vector<Entry>& pool, std::vector<std::uint32_t>& free, std::uint32_t& last,
                         std::uint32_t none) {
  const std::uint32_t first = pool[last].next;
  free.push_back(first);
  if (first == last) {
    last = none;
  } else {
    pool[last].next = pool[first].next;
  }
  return first;
}

}  // namespace

FlagId Flags::add(std::uint32_t count, bool in_order) {
  const FlagId first = size_;
  size_ += count;
  pages_.resize((std::size_t{size_} + page - 1) / page);
  in_order_.resize(pages_.size());
  for (FlagId id = first; in_order && id < size_; ++id) in_order_[id / page] |= std::uint64_t{1} << id % page;
  return first;
}

Flags::Flag& Flags::flag_of(FlagId id) {
  std::unique_ptr<Page>& its = pages_[id / page];
  if (!its) its = std::make_unique<Page>();
  return (*its)[id % page];
}

void Flags::fires_next(std::uint64_t id) const {
  if (const Flag* flag = find(static_cast<FlagId>(id))) __builtin_prefetch(flag);
}

std::int64_t Flags::value(FlagId id) const {
  const Flag* flag = find(id);
  if (flag == nullptr) return 0;
  if (flag->last <= calendar_.now()) return flag->known;
  std::int64_t value = flag->known - 1;
  if (flag->coming == none) return value;
  std::uint32_t at = flag->coming;
  do {
    at = coming_[at].next;
    if (coming_[at].at > calendar_.now()) --value;
  } while (at != flag->coming);
  return value;
}

Time Flags::reached(FlagId id, std::int64_t target) const {
  const Flag* flag = find(id);
  if (flag == nullptr) return target <= 0 ? calendar_.now() : Time::max();
  if (flag->known < target) return Time::max();
  if (!in_order(id)) return value(id) < target ? Time::max() : calendar_.now();
  if (flag->known == target || flag->coming == none) {
    return std::max(calendar_.now(), flag->known == target ? flag->last : Time{});
  }
  std::int64_t before = flag->known - 1;  // value before the raises in the list, each of which adds one
  std::uint32_t at = flag->coming;
  do {
    at = coming_[at].next;
    --before;
  } while (at != flag->coming);
  Time when = calendar_.now();
  for (; before < target; ++before) {
    at = coming_[at].next;
    when = std::max(when, coming_[at].at);
  }
  return when;
}

void Flags::raise(FlagId id, std::int64_t by) {
  MOIRE_INVARIANT(by > 0, "a flag can only rise");
  Flag& flag = flag_of(id);
  MOIRE_INVARIANT(!in_order(id) || flag.last <= calendar_.now(),
                  "a flag rises now although an earlier call has raised it at a later time");
  flag.known += by;
  flag.last = std::max(flag.last, calendar_.now());
  tell(flag);
}

Time Flags::raise_at(FlagId id, Time at) {
  if (at == Time::max()) throw EndOfTime();
  Flag& flag = flag_of(id);
  if (!in_order(id) && flag.waiters != none) {
    calendar_.schedule(at, *this, id, component_);
    return at;
  }
  forget_past(flag);
  const Time rises = in_order(id) ? std::max(at, flag.last) : at;
  if (flag.last > calendar_.now()) add_coming(flag, std::min(flag.last, rises));
  ++flag.known;
  flag.last = std::max(flag.last, rises);
  tell(flag);
  return rises;
}

void Flags::add_coming(Flag& flag, Time at) {
  const std::uint32_t added = take(coming_, free_coming_);
  coming_[added].at = at;
  append(coming_, flag.coming, none, added);
}

// Turns all raises in the future into events.
void Flags::make_events(FlagId id, Flag& flag) {
  const Time now = calendar_.now();
  if (flag.last > now) {
    calendar_.schedule(flag.last, *this, id, component_);
    --flag.known;
    flag.last = now;
  }
  while (flag.coming != none) {
    const std::uint32_t first = take_first(coming_, free_coming_, flag.coming, none);
    if (coming_[first].at <= now) continue;
    calendar_.schedule(coming_[first].at, *this, id, component_);
    --flag.known;
  }
}

// Removes raises in the past from the list `coming`.
void Flags::forget_past(Flag& flag) {
  while (flag.coming != none) {
    if (coming_[coming_[flag.coming].next].at > calendar_.now()) return;
    take_first(coming_, free_coming_, flag.coming, none);
  }
}

// Tells all waiters whose targets the flag reaches with its latest raise.
void Flags::tell(Flag& flag) {
  if (flag.waiters == none || parked_[flag.waiters].lowest > flag.known) return;
  const Time at = flag.last;
  const std::uint32_t last = std::exchange(flag.waiters, none);
  const std::uint32_t first = parked_[last].next;
  if (first == last) {
    free_parked_.push_back(last);
    const Parked told = parked_[last];
    return told.waiter->reaches(told.payload, at);
  }
  std::vector<Parked> all;
  for (std::uint32_t one = first, next = none; next != first; one = next) {
    next = parked_[one].next;
    if (parked_[one].target <= flag.known) {
      all.push_back(parked_[one]);
      free_parked_.push_back(one);
    } else {
      park(flag, one);
    }
  }
  for (const Parked& told : all) told.waiter->reaches(told.payload, at);
}

void Flags::wait(FlagId id, std::int64_t target, FlagWaiter& waiter, std::uint64_t payload) {
  if (const Time at = reached(id, target); at != Time::max()) return waiter.reaches(payload, at);
  Flag& flag = flag_of(id);
  if (!in_order(id)) make_events(id, flag);
  const std::uint32_t at = take(parked_, free_parked_);
  parked_[at] = {target, &waiter, payload, none, 0};
  park(flag, at);
}

void Flags::park(Flag& flag, std::uint32_t at) {
  Parked& parked = parked_[at];
  parked.lowest = flag.waiters == none ? parked.target : std::min(parked.target, parked_[flag.waiters].lowest);
  append(parked_, flag.waiters, none, at);
}

std::vector<Flags::Waiter> Flags::waiting() const {
  std::vector<Waiter> all;
  for (FlagId id = 0; id < size_; ++id) {
    const Flag* flag = find(id);
    if (flag == nullptr || flag->waiters == none) continue;
    std::uint32_t at = flag->waiters;
    do {
      at = parked_[at].next;
      all.push_back({id, parked_[at].target, parked_[at].waiter, parked_[at].payload});
    } while (at != flag->waiters);
  }
  return all;
}

}  // namespace moire::core
