#include "models/msccl/happens_before.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace moire::models::msccl {

namespace {

// Vector clocks of all blocks would be blocks x blocks numbers. Only blocks that have the first access of an open
// conflict need a place in them; those are taken so many at a time, and each time the calls are walked through anew.
constexpr std::size_t width = 64;

// Clocks that are shared until one changes. Number 0 knows nothing.
class Clocks {
 public:
  using Clock = std::uint32_t;

  Clocks() { clear(); }

  void clear() {
    values_.assign(1, {});
    users_.assign(1, 1);
    free_.clear();
  }
  Clock share(Clock clock) {
    if (clock != 0) ++users_[clock];
    return clock;
  }
  void drop(Clock clock) {
    if (clock != 0 && --users_[clock] == 0) free_.push_back(clock);
  }
  std::uint32_t at(Clock clock, std::uint8_t place) const { return values_[clock][place]; }

  // `mine` learns all that `other` knows.
  void learn(Clock& mine, Clock other) {
    if (other == 0 || other == mine) return;
    if (mine == 0) {
      mine = share(other);
      return;
    }
    bool mine_lacks = false;
    bool other_lacks = false;
    for (std::size_t i = 0; i < width; ++i) {
      mine_lacks |= values_[mine][i] < values_[other][i];
      other_lacks |= values_[mine][i] > values_[other][i];
    }
    if (!mine_lacks) return;
    if (!other_lacks) {
      drop(std::exchange(mine, share(other)));
      return;
    }
    make_own(mine);
    for (std::size_t i = 0; i < width; ++i) values_[mine][i] = std::max(values_[mine][i], values_[other][i]);
  }
  void set(Clock& mine, std::uint8_t place, std::uint32_t value) {
    make_own(mine);
    values_[mine][place] = value;
  }

 private:
  void make_own(Clock& mine) {
    if (mine != 0 && users_[mine] == 1) return;
    Clock own = 0;
    if (free_.empty()) {
      own = static_cast<Clock>(values_.size());
      values_.emplace_back();
      users_.push_back(0);
    } else {
      own = free_.back();
      free_.pop_back();
    }
    values_[own] = values_[mine];
    users_[own] = 1;
    drop(std::exchange(mine, own));
  }

  std::vector<std::array<std::uint32_t, width>> values_;
  std::vector<std::uint32_t> users_;
  std::vector<Clock> free_;
};

// One call as far as order goes.
struct Event {
  std::uint32_t block = 0;
  std::uint32_t in = nobody;  // connections
  std::uint32_t out = nobody;
  std::uint32_t waits = nobody;  // publications
  std::uint32_t publishes = nobody;
};

class Order {
 public:
  Order(const Wiring& wiring, const std::vector<std::uint32_t>& order, std::uint32_t chunks_per_call,
        std::uint32_t slots)
      : wiring_(wiring), slots_(slots), place_(wiring.blocks.size(), no_place) {
    number_publications();
    Replay replay(wiring, chunks_per_call);
    events_.reserve(order.size());
    for (const std::uint32_t b : order) events_.push_back(event_of(replay.next(b)));
  }

  // Answers the conflicts `these`, whose first accesses are of `width` blocks at most.
  void answer(const std::vector<Conflict>& conflicts, std::vector<std::uint32_t> these, std::vector<bool>& ordered) {
    begin();
    std::vector<std::uint32_t> chains;
    for (const std::uint32_t i : these) {
      std::uint8_t& place = place_[conflicts[i].first.block];
      if (place != no_place) continue;
      place = static_cast<std::uint8_t>(chains.size());
      chains.push_back(conflicts[i].first.block);
    }
    const auto asked = [&](std::uint32_t i) { return std::pair(conflicts[i].second.block, conflicts[i].second.call); };
    std::sort(these.begin(), these.end(), [&](std::uint32_t a, std::uint32_t b) { return asked(a) < asked(b); });
    std::vector<std::uint32_t> next(wiring_.blocks.size(), nobody);
    for (std::uint32_t i = static_cast<std::uint32_t>(these.size()); i-- > 0;) next[asked(these[i]).first] = i;
    std::size_t open = these.size();
    for (const Event& event : events_) {
      Clocks::Clock& clock = clock_[event.block];
      learn(event, clock);
      const std::uint32_t number = calls_[event.block]++;
      for (std::uint32_t& i = next[event.block]; i < these.size() && asked(these[i]) == std::pair(event.block, number);
           ++i) {
        const Touch& first = conflicts[these[i]].first;
        ordered[these[i]] = clocks_.at(clock, place_[first.block]) > first.call;
        --open;
      }
      if (open == 0) break;
      if (place_[event.block] != no_place) clocks_.set(clock, place_[event.block], number + 1);
      tell(event, clock);
    }
    for (const std::uint32_t chain : chains) place_[chain] = no_place;
  }

 private:
  static constexpr std::uint8_t no_place = 255;
  static_assert(width < no_place);

  void number_publications() {
    first_step_.push_back(0);
    for (const Wiring::Block& block : wiring_.blocks) first_step_.push_back(first_step_.back() + block.steps().size());
    publication_.assign(first_step_.back(), nobody);
    for (const Wiring::Block& block : wiring_.blocks) {
      for (const Step& step : block.steps()) {
        if (step.depends_block == none) continue;
        const std::uint32_t on = wiring_.block(block.gpu, step.depends_block);
        std::uint32_t& number =
            publication_[first_step_[on] + publishing_step(wiring_.blocks[on].steps(), step.depends_step)];
        if (number == nobody) {
          number = static_cast<std::uint32_t>(waiting_.size());
          waiting_.push_back(0);
        }
        ++waiting_[number];
      }
    }
  }

  Event event_of(const Call& call) const {
    const Wiring::Block& block = wiring_.blocks[call.block];
    const Step& step = block.steps()[call.step];
    const Effect does = effect(step.type);
    Event event;
    event.block = call.block;
    if (does.receives) event.in = block.in;
    if (does.sends) event.out = block.out;
    if (call.first == 0 && step.depends_block != none) {
      const std::uint32_t on = wiring_.block(block.gpu, step.depends_block);
      event.waits = publication_[first_step_[on] + publishing_step(wiring_.blocks[on].steps(), step.depends_step)];
    }
    if (call.last) event.publishes = publication_[first_step_[call.block] + call.step];
    return event;
  }

  void begin() {
    clocks_.clear();
    clock_.assign(wiring_.blocks.size(), 0);
    calls_.assign(wiring_.blocks.size(), 0);
    published_.assign(waiting_.size(), 0);
    still_waiting_ = waiting_;
    const std::size_t connections = wiring_.connections.size();
    messages_.assign(connections * slots_, 0);
    credits_.assign(connections * slots_, 0);
    sent_.assign(connections, 0);
    received_.assign(connections, 0);
  }

  void learn(const Event& event, Clocks::Clock& clock) {
    if (event.waits != nobody) {
      clocks_.learn(clock, published_[event.waits]);
      if (--still_waiting_[event.waits] == 0) clocks_.drop(std::exchange(published_[event.waits], 0));
    }
    if (event.in != nobody) take(clock, messages_[slot(event.in, received_[event.in])]);
    // What came back when the slot was last emptied.
    if (event.out != nobody && sent_[event.out] >= slots_) take(clock, credits_[slot(event.out, sent_[event.out])]);
  }
  void tell(const Event& event, Clocks::Clock clock) {
    if (event.in != nobody) credits_[slot(event.in, received_[event.in]++)] = clocks_.share(clock);
    if (event.out != nobody) messages_[slot(event.out, sent_[event.out]++)] = clocks_.share(clock);
    if (event.publishes != nobody) published_[event.publishes] = clocks_.share(clock);
  }
  void take(Clocks::Clock& clock, Clocks::Clock& from) {
    clocks_.learn(clock, from);
    clocks_.drop(std::exchange(from, 0));
  }
  std::size_t slot(std::uint32_t connection, std::uint32_t number) const {
    return std::size_t{connection} * slots_ + number % slots_;
  }

  const Wiring& wiring_;
  const std::uint32_t slots_;
  std::vector<Event> events_;
  std::vector<std::size_t> first_step_;
  std::vector<std::uint32_t> publication_;  // number of each step that somebody waits for
  std::vector<std::uint32_t> waiting_;      // for each publication

  Clocks clocks_;
  std::vector<std::uint8_t> place_;  // of a block in the clocks
  std::vector<Clocks::Clock> clock_;
  std::vector<std::uint32_t> calls_;
  std::vector<Clocks::Clock> published_;
  std::vector<std::uint32_t> still_waiting_;
  std::vector<Clocks::Clock> messages_;
  std::vector<Clocks::Clock> credits_;
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

}  // namespace

std::vector<bool> are_ordered(const Wiring& wiring, const std::vector<Conflict>& conflicts,
                              const std::vector<std::uint32_t>& order, std::uint32_t chunks_per_call,
                              std::uint32_t slots) {
  std::vector<bool> ordered(conflicts.size());
  if (conflicts.empty()) return ordered;
  std::vector<std::uint32_t> by_chain(conflicts.size());
  std::iota(by_chain.begin(), by_chain.end(), 0U);
  const auto chain = [&](std::uint32_t i) { return conflicts[i].first.block; };
  std::stable_sort(by_chain.begin(), by_chain.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return chain(a) < chain(b); });
  Order all(wiring, order, chunks_per_call, slots);
  for (std::size_t begin = 0; begin < by_chain.size();) {
    std::size_t chains = 0;
    std::size_t end = begin;
    for (; end < by_chain.size(); ++end) {
      const bool another = end == begin || chain(by_chain[end]) != chain(by_chain[end - 1]);
      if (another && ++chains > width) break;
    }
    all.answer(
        conflicts,
        {by_chain.begin() + static_cast<std::ptrdiff_t>(begin), by_chain.begin() + static_cast<std::ptrdiff_t>(end)},
        ordered);
    begin = end;
  }
  return ordered;
}

}  // namespace moire::models::msccl
