// A cache of solutions of the sharing law (sharing.hpp).
//
// Nodes that do the same at the same time need the same solves. A solve is for one component, which is a set of classes
// that are connected through capacities. The result of a solve depends only on the structure of the component (which
// classes demand which capacities, and all numbers of their specs), on the state that the solver kept from the previous
// solve, and on the change of the numbers of members. So components for which these three are equal to the last bit can
// use the same result. The three are compared in full; hashes only find candidates. Memory is bounded: a new result
// replaces a result that was not used lately. If few look-ups succeed, the cache is switched off for a while, because
// it then costs more time than it saves.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace moire::core {

class ShareComponent;

class ShareMemo {
 public:
  using Words = std::vector<std::uint64_t>;
  struct State;
  // A change of the numbers of members in a state, and what a solve found for this change.
  struct Step {
    Words change;
    State* to = nullptr;
    std::uint64_t number = 0;          // State::number of `to`; if `to` has another number now, the step is invalid
    std::vector<std::uint32_t> rates;  // variables whose rate or members may differ, in order
    std::vector<std::uint32_t> loads;  // constraints whose load may differ
  };
  // The result of a component's solve, from which its next solve starts. The words are: the number of the structure; 1
  // if no capacity is contended, else 0; for each variable, its members and rate; for each constraint, its load; for
  // each constraint that stretches latencies, its assumed load, stretch and steepness (ShareComponent::Constraint).
  struct State {
    Words words;
    std::uint64_t number = 0;  // unique among all states, also among those that were replaced
    std::uint32_t variables = 0;
    std::uint32_t present = 0;  // variables with members

    std::uint64_t structure() const { return words[0]; }
    const std::uint64_t* saved() const { return words.data() + 1; }  // by ShareComponent::save()
    std::uint32_t members(std::uint32_t variable) const {
      return static_cast<std::uint32_t>(words[2 + 2 * std::size_t{variable}]);
    }
    double rate(std::uint32_t variable) const { return std::bit_cast<double>(words[3 + 2 * std::size_t{variable}]); }
    double load(std::uint32_t constraint) const {  // fraction of its rate
      return std::bit_cast<double>(words[2 + 2 * std::size_t{variables} + constraint]);
    }

   private:
    friend class ShareMemo;
    std::uint64_t hash = 0;
    std::uint64_t asked = 0;  // value of questions_ when this state was looked up last
    std::uint32_t holders = 0;
    bool listed = false;  // in a set
    std::uint32_t known_steps = 0;
    std::uint32_t next_step = 0;  // index of the step that the next new step replaces
    std::vector<Step> steps;      // may be longer than known_steps, because old steps keep their memory
  };

  // If `remembers` is false, nothing is stored and no look-up succeeds.
  explicit ShareMemo(bool remembers);
  // Returns the number of the structure that these words describe.
  std::uint64_t structure(const Words& words);
  // Returns the state of a component whose variables have no members yet. `guesses` contains, for each constraint, the
  // initial guess of its load (a fraction of its rate), or `flat` if its load stretches no latency.
  State& start(std::uint64_t structure, std::uint32_t variables, const std::vector<double>& guesses);
  static constexpr double flat = -1;
  // Returns one word of a change. A change lists, in order, the variables whose number of members changed, each with
  // its new number.
  static std::uint64_t change(std::uint32_t variable, std::uint32_t members) {
    return std::uint64_t{variable} << 32 | members;
  }
  const Step* find(const State& from, const Words& change);
  // Stores what `solved` found for this change, and returns the stored step. The reference is valid until the next
  // add(). `from` must be held (see hold()).
  const Step& add(State& from, const Words& change, const ShareComponent& solved);
  // A component holds its present state, so that no new state replaces this state in the cache. hold() releases `held`,
  // if it is not null, and holds `other` in its place, if `other` is not null.
  void hold(State*& held, State* other);

 private:
  struct Structure {
    Words words;
    std::uint64_t number = 0;
  };
  static constexpr std::size_t most_structures = 1 << 10, most_states = 1 << 12, most_steps = 8;
  static constexpr std::size_t ways = 4;  // states of a set; a hash selects the set

  State& state(const Words& words, std::uint32_t variables);
  State& unlisted();
  void count_question();
  static const Step& fill(Step& step, const Words& change, State& to, const ShareComponent& solved);

  bool remembers_;
  // Look-ups are counted in periods of `spell`. After a period in which less than a quarter of them succeeded, the memo
  // is switched off (asleep_) for `long_spell` look-ups.
  static constexpr std::uint32_t spell = 1 << 11, long_spell = 16 * spell;
  bool asleep_ = false;
  std::uint32_t left_ = spell;  // look-ups that are left in this period
  std::uint32_t known_ = 0;     // look-ups of this period that succeeded
  std::uint64_t last_number_ = 0;
  std::uint64_t questions_ = 0;
  std::vector<Structure> structures_;  // by hash
  // Sets of states by hash. They are made when they are needed, because most simulations are short.
  std::vector<std::unique_ptr<std::array<State, ways>>> sets_;
  std::deque<State> unlisted_;  // states outside of the sets, because their places were held or the memo was off
  std::vector<State*> free_;    // states of unlisted_ that nobody holds
  Words scratch_;
  Step only_;  // the result of the last add(), if it is not stored
};

}  // namespace moire::core
