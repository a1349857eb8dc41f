// Solutions of the sharing law that are known already.
//
// Nodes that do the same at the same time ask their solvers the same questions. What a solve finds depends only on the
// component, on what its solver kept from the solve before, and on the change. So one answer serves all who ask the
// same, to the last bit. Questions are compared in full; hashes only find candidates. Memory is bounded: a new answer
// replaces one that was not asked for lately. Where few questions come again, nothing is remembered for a while,
// because remembering then costs more than it saves.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace moire::core {

class ShareComponent;

class ShareMemo {
 public:
  using Words = std::vector<std::uint64_t>;
  struct State;
  // A change of a state and its consequences.
  struct Step {
    Words change;
    State* to = nullptr;
    std::uint64_t number = 0;          // of `to`; if it has another one now, this step was forgotten
    std::vector<std::uint32_t> rates;  // variables whose rate or members may differ, in order
    std::vector<std::uint32_t> loads;  // constraints whose load may differ
  };
  // What a component's solver found, and what it starts from the next time. The words are: the structure's number;
  // whether nothing is contended; of each variable, the members and the rate; of each constraint, the load; of each
  // constraint that stretches latencies, the assumed load, the stretch and its steepness.
  struct State {
    Words words;
    std::uint64_t number = 0;  // of every state another one, also of those that are forgotten
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
    std::uint64_t asked = 0;  // when it was looked for last, in questions
    std::uint32_t holders = 0;
    bool listed = false;  // in states_
    std::uint32_t known_steps = 0;
    std::uint32_t next_step = 0;  // the one to replace
    std::vector<Step> steps;      // their memory is used again
  };

  // Without `remembers` every question is new.
  explicit ShareMemo(bool remembers);
  // The number of the structure that these words describe.
  std::uint64_t structure(const Words& words);
  // The state of a component that has no members yet. Of each constraint, the initial guess of the load (a fraction),
  // or `flat` if its load stretches no latency, so that nothing depends on the guess.
  State& start(std::uint64_t structure, std::uint32_t variables, const std::vector<double>& guesses);
  static constexpr double flat = -1;
  // A change lists, in order, the variables whose members changed.
  static std::uint64_t change(std::uint32_t variable, std::uint32_t members) {
    return std::uint64_t{variable} << 32 | members;
  }
  const Step* find(const State& from, const Words& change);
  // What the solver found for this change; valid until the next one is added. `from` is held by somebody.
  const Step& add(State& from, const Words& change, const ShareComponent& solved);
  // A state that is held is not forgotten. Passes a holder on from one state, or none, to another one, or none.
  void hold(State*& held, State* other);

 private:
  struct Structure {
    Words words;
    std::uint64_t number = 0;
  };
  static constexpr std::size_t most_structures = 1 << 10, most_states = 1 << 12, most_steps = 8;
  static constexpr std::size_t ways = 4;  // places at which a state can be

  State& state(const Words& words, std::uint32_t variables);
  State& unlisted();
  void count_question();
  static const Step& fill(Step& step, const Words& change, State& to, const ShareComponent& solved);

  bool remembers_;
  // Questions come in spells. After one of which less than a quarter was known, the memo sleeps for a long one.
  static constexpr std::uint32_t spell = 1 << 11, long_spell = 16 * spell;
  bool asleep_ = false;
  std::uint32_t left_ = spell;  // questions of this spell
  std::uint32_t known_ = 0;     // of the questions of this spell
  std::uint64_t last_number_ = 0;
  std::uint64_t questions_ = 0;
  std::vector<Structure> structures_;  // by hash
  std::vector<State> states_;          // by hash, in sets of `ways`
  std::deque<State> unlisted_;         // those that found no place, because all others there were held
  std::vector<State*> free_;           // of unlisted_
  Words scratch_;
  Step only_;  // the step that was found last, if it is not remembered
};

}  // namespace moire::core
