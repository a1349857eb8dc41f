#include "sim/core/share_memo.hpp"

#include <algorithm>

#include "sim/core/share_component.hpp"

namespace moire::core {

namespace {

// Returns a hash of the words. The words with even and with odd indices form two independent chains of multiplications,
// which the processor can execute at the same time.
std::uint64_t hash_of(const ShareMemo::Words& words) {
  constexpr std::uint64_t spread = 0x9E3779B97F4A7C15ULL;  // 2^64 / golden ratio
  std::uint64_t even = words.size();
  std::uint64_t odd = 1;
  std::size_t i = 0;
  for (; i + 1 < words.size(); i += 2) {
    even = (std::rotl(even, 23) ^ words[i]) * spread;
    odd = (std::rotl(odd, 23) ^ words[i + 1]) * spread;
  }
  if (i < words.size()) even = (std::rotl(even, 23) ^ words[i]) * spread;
  even ^= std::rotl(odd, 32);
  return (even ^ even >> 32) * spread >> 16;
}

}  // namespace

ShareMemo::ShareMemo(bool remembers) : remembers_(remembers) {
  if (!remembers) return;
  structures_.resize(most_structures);
  sets_.resize(most_states / ways);
}

std::uint64_t ShareMemo::structure(const Words& words) {
  if (!remembers_) return ++last_number_;
  Structure& known = structures_[hash_of(words) % most_structures];
  if (known.words != words) known = {words, ++last_number_};
  return known.number;
}

ShareMemo::State& ShareMemo::start(std::uint64_t structure, std::uint32_t variables,
                                   const std::vector<double>& guesses) {
  scratch_.assign(2 + 2 * std::size_t{variables}, 0);
  scratch_[0] = structure;
  for (const double guess : guesses) scratch_.push_back(std::bit_cast<std::uint64_t>(guess == flat ? 0 : guess));
  for (const double guess : guesses) {
    if (guess == flat) continue;
    for (const double value : {0.0, 1.0, 0.0}) scratch_.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return state(scratch_, variables);
}

ShareMemo::State& ShareMemo::unlisted() {
  if (free_.empty()) return unlisted_.emplace_back();
  State& state = *free_.back();
  free_.pop_back();
  return state;
}

ShareMemo::State& ShareMemo::state(const Words& words, std::uint32_t variables) {
  State* room = nullptr;
  const std::uint64_t hash = asleep_ ? 0 : hash_of(words);
  if (remembers_ && !asleep_) {
    auto& set = sets_[hash % sets_.size()];
    if (set == nullptr) set = std::make_unique<std::array<State, ways>>();
    for (State& one : *set) {
      if (one.hash == hash && one.words == words) {
        one.asked = ++questions_;
        return one;
      }
      if (one.holders == 0 && (room == nullptr || one.asked < room->asked)) room = &one;
    }
  }
  const bool listed = room != nullptr;
  State& made = listed ? *room : unlisted();
  made.words = words;
  made.number = ++last_number_;
  made.variables = variables;
  made.present = 0;
  for (std::uint32_t i = 0; i < variables; ++i) made.present += static_cast<std::uint32_t>(made.members(i) > 0);
  made.hash = hash;
  made.asked = ++questions_;
  made.listed = listed;
  made.known_steps = made.next_step = 0;
  return made;
}

void ShareMemo::count_question() {
  if (--left_ > 0) return;
  asleep_ = !asleep_ && known_ < spell / 4;
  left_ = asleep_ ? long_spell : spell;
  known_ = 0;
}

const ShareMemo::Step* ShareMemo::find(const State& from, const Words& change) {
  if (!remembers_) return nullptr;
  count_question();
  if (asleep_) return nullptr;
  for (std::uint32_t i = 0; i < from.known_steps; ++i) {
    const Step& step = from.steps[i];
    if (step.change != change) continue;
    if (step.to->number != step.number) return nullptr;
    ++known_;
    return &step;
  }
  return nullptr;
}

const ShareMemo::Step& ShareMemo::add(State& from, const Words& change, const ShareComponent& solved) {
  scratch_.assign(1, from.structure());
  solved.save(scratch_);
  State& to = state(scratch_, solved.variables());
  if (asleep_ || !remembers_) return fill(only_, change, to, solved);
  std::uint32_t at = 0;
  while (at < from.known_steps && from.steps[at].change != change) ++at;  // a known step may lead to a replaced state
  if (at == from.known_steps) {
    if (from.known_steps < most_steps) {
      ++from.known_steps;
      if (from.steps.size() < from.known_steps) from.steps.emplace_back();
    } else {
      at = from.next_step;
      from.next_step = (at + 1) % most_steps;
    }
  }
  return fill(from.steps[at], change, to, solved);
}

const ShareMemo::Step& ShareMemo::fill(Step& step, const Words& change, State& to, const ShareComponent& solved) {
  step.change = change;
  step.to = &to;
  step.number = to.number;
  step.rates = solved.changed_rates();
  std::sort(step.rates.begin(), step.rates.end());
  step.loads = solved.changed_loads();
  return step;
}

void ShareMemo::hold(State*& held, State* other) {
  if (other != nullptr) ++other->holders;
  if (held != nullptr && --held->holders == 0 && !held->listed) free_.push_back(held);
  held = other;
}

}  // namespace moire::core
