#include "models/algorithms/proof/happens_before.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace moire::proof {

namespace {

// A vector clock for each block, with an entry for every block, would take blocks x blocks numbers. Only blocks with
// the first access of an undecided conflict need an entry. So the calls are walked through several times, each time
// with entries for at most `width` of these blocks.
constexpr std::size_t width = 64;

// A pool of vector clocks, which are named by index. Equal clocks share their values until one of them changes. In
// clock 0, all entries are 0: it knows of no call.
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

  // Raises each entry of `mine` to the entry of `other` if the latter is larger.
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

// The calls in the order of the schedule. For each call, before_ lists the calls that must end before this call begins.
// The listed calls always come earlier in the order.
class Order {
 public:
  Order(const Program& program, const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call,
        std::uint32_t slots)
      : blocks_(order), place_(program.blocks.size(), no_place) {
    number_calls(program);
    find_predecessors(program, cells_per_call, slots);
  }

  std::uint32_t event_of(const Touch& touch) const { return events_[first_call_[touch.block] + touch.call]; }

  enum class Answer { ordered, not_ordered, not_found };
  // Searches backwards from call `second` for call `first`, through at most `most_visits` calls. Returns not_found if
  // the search reached this limit.
  Answer search(std::uint32_t first, std::uint32_t second, std::uint32_t most_visits) {
    if (seen_.empty()) seen_.assign(blocks_.size(), 0);
    ++search_;
    open_.assign(1, second);
    for (std::uint32_t visits = 0; !open_.empty(); ++visits) {
      if (visits == most_visits) return Answer::not_found;
      const std::uint32_t event = open_.back();
      open_.pop_back();
      // A call that sent data is the most likely one to lead to `first`. It stands last in before_, so it is pushed
      // last and searched first.
      for (const std::uint32_t before : before_[event]) {
        if (before == first) return Answer::ordered;
        if (before == nobody || before < first || std::exchange(seen_[before], search_) == search_) continue;
        open_.push_back(before);
      }
    }
    return Answer::not_ordered;
  }

  // Decides the conflicts with the indices `these` and writes the answers to `ordered`. Walks through the calls from
  // their earliest first access to their latest second access. The first accesses must belong to at most `width`
  // blocks.
  void answer(const std::vector<Conflict>& conflicts, std::vector<std::uint32_t> these, std::vector<bool>& ordered) {
    std::vector<std::uint32_t> chains;
    std::uint32_t begin = nobody;
    for (const std::uint32_t i : these) {
      begin = std::min(begin, event_of(conflicts[i].first));
      std::uint8_t& place = place_[conflicts[i].first.block];
      if (place != no_place) continue;
      place = static_cast<std::uint8_t>(chains.size());
      chains.push_back(conflicts[i].first.block);
    }
    const auto asked_at = [&](std::uint32_t i) { return event_of(conflicts[i].second); };
    std::sort(these.begin(), these.end(), [&](std::uint32_t a, std::uint32_t b) { return asked_at(a) < asked_at(b); });
    const std::uint32_t end = asked_at(these.back());
    clocks_.clear();
    clock_.resize(blocks_.size());
    uses_.resize(blocks_.size());
    std::size_t next = 0;
    for (std::uint32_t event = begin; event <= end; ++event) {
      Clocks::Clock& clock = clock_[event] = 0;
      uses_[event] = consumers_[event];
      for (const std::uint32_t before : before_[event]) {
        if (before == nobody || before < begin) continue;
        clocks_.learn(clock, clock_[before]);
        if (--uses_[before] == 0) clocks_.drop(clock_[before]);
      }
      for (; next < these.size() && asked_at(these[next]) == event; ++next) {
        const Touch& first = conflicts[these[next]].first;
        ordered[these[next]] = clocks_.at(clock, place_[first.block]) > first.call;
      }
      const std::uint8_t place = place_[blocks_[event]];
      if (place != no_place) clocks_.set(clock, place, number_[event] + 1);
      if (uses_[event] == 0) clocks_.drop(clock);
    }
    for (const std::uint32_t chain : chains) place_[chain] = no_place;
  }

 private:
  static constexpr std::uint8_t no_place = 255;
  static_assert(width < no_place);

  void number_calls(const Program& program) {
    first_call_.assign(program.blocks.size() + 1, 0);
    for (const std::uint32_t b : blocks_) ++first_call_[b + 1];
    std::partial_sum(first_call_.begin(), first_call_.end(), first_call_.begin());
    std::vector<std::uint32_t> calls(program.blocks.size());
    events_.resize(blocks_.size());
    number_.resize(blocks_.size());
    for (std::uint32_t event = 0; event < blocks_.size(); ++event) {
      number_[event] = calls[blocks_[event]]++;
      events_[first_call_[blocks_[event]] + number_[event]] = event;
    }
  }

  void find_predecessors(const Program& program, std::uint32_t cells_per_call, std::uint32_t slots) {
    std::vector<std::size_t> first_step = {0};
    for (const Program::Block& block : program.blocks) first_step.push_back(first_step.back() + block.steps.size());
    std::vector<std::uint32_t> ended(first_step.back(), nobody);  // the last call of each step
    // For each slot of a connection: the call that sent into it last, and the call that received from it last.
    std::vector<std::uint32_t> sent_by(program.connections.size() * slots, nobody);
    std::vector<std::uint32_t> received_by(sent_by);
    std::vector<std::uint32_t> sent(program.connections.size());
    std::vector<std::uint32_t> received(program.connections.size());
    before_.resize(blocks_.size());
    consumers_.assign(blocks_.size(), 0);
    Calls calls(program, cells_per_call);
    for (std::uint32_t event = 0; event < blocks_.size(); ++event) {
      const Call call = calls.next(blocks_[event]);
      const Step& step = program.blocks[call.block].steps[call.step];
      const ir::Effect does = effect(step.op);
      auto& [credit, previous, dependency, data] = before_[event];
      credit = previous = dependency = data = nobody;
      if (call.number > 0) previous = events_[first_call_[call.block] + call.number - 1];
      if (call.first == 0 && step.waits_for != nobody) dependency = ended[first_step[step.waits_for] + step.waits_step];
      if (does.receives) {
        const std::size_t slot = std::size_t{step.in} * slots + received[step.in]++ % slots;
        data = sent_by[slot];
        received_by[slot] = event;
      }
      if (does.sends) {
        const std::size_t slot = std::size_t{step.out} * slots + sent[step.out]++ % slots;
        credit = received_by[slot];
        sent_by[slot] = event;
      }
      if (call.last) ended[first_step[call.block] + call.step] = event;
      for (const std::uint32_t before : before_[event]) {
        if (before != nobody) ++consumers_[before];
      }
    }
  }

  // An event is the position of a call in the order.
  const std::vector<std::uint32_t>& blocks_;  // by event: the call's block
  std::vector<std::uint32_t> number_;         // by event: the call's number in its block
  std::vector<std::uint32_t> first_call_;     // by block: index into events_ of the block's first call
  std::vector<std::uint32_t> events_;         // the events of each block's calls, block by block
  std::vector<std::array<std::uint32_t, 4>> before_;
  std::vector<std::uint32_t> consumers_;  // by event: number of calls that have this call in before_

  std::vector<std::uint32_t> seen_;
  std::uint32_t search_ = 0;
  std::vector<std::uint32_t> open_;

  Clocks clocks_;
  std::vector<std::uint8_t> place_;  // by block: its entry in the clocks
  std::vector<Clocks::Clock> clock_;
  std::vector<std::uint32_t> uses_;
};

}  // namespace

std::vector<bool> are_ordered(const Program& program, const std::vector<Conflict>& conflicts,
                              const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call,
                              std::uint32_t slots, std::optional<std::uint32_t> search_calls) {
  std::vector<bool> ordered(conflicts.size());
  if (conflicts.empty()) return ordered;
  Order all(program, order, cells_per_call, slots);
  // Most paths are short enough for a search. With this limit, all searches together take about as long as a few walks
  // through all calls.
  constexpr std::size_t all_visits = 100'000'000;
  const auto visits = search_calls.value_or(
      static_cast<std::uint32_t>(std::clamp<std::size_t>(all_visits / conflicts.size(), 200, 1'000'000)));
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < conflicts.size(); ++i) {
    const auto answer = all.search(all.event_of(conflicts[i].first), all.event_of(conflicts[i].second), visits);
    ordered[i] = answer == Order::Answer::ordered;
    if (answer == Order::Answer::not_found) open.push_back(i);
  }
  const auto chain = [&](std::uint32_t i) { return conflicts[i].first.block; };
  std::stable_sort(open.begin(), open.end(), [&](std::uint32_t a, std::uint32_t b) { return chain(a) < chain(b); });
  for (std::size_t begin = 0; begin < open.size();) {
    std::size_t chains = 0;
    std::size_t end = begin;
    for (; end < open.size(); ++end) {
      const bool another = end == begin || chain(open[end]) != chain(open[end - 1]);
      if (another && ++chains > width) break;
    }
    all.answer(conflicts,
               {open.begin() + static_cast<std::ptrdiff_t>(begin), open.begin() + static_cast<std::ptrdiff_t>(end)},
               ordered);
    begin = end;
  }
  return ordered;
}

}  // namespace moire::proof
