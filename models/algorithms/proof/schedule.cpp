#include "models/algorithms/proof/schedule.hpp"

#include <algorithm>
#include <utility>

namespace moire::proof {

namespace {

class Run {
 public:
  Run(const Program& program, std::uint32_t cells_per_call, std::uint32_t slots, bool keep_order)
      : program_(program), chunks_(cells_per_call), slots_(slots), keep_(keep_order) {
    blocks_.resize(program.blocks.size());
    filled_.resize(program.connections.size());
  }

  Schedule run() {
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) advance(b, false);
    // Steps that neither send nor receive are run only when no other step can run. By then, the data that they need has
    // mostly arrived, even if they lack a dependency. So a missing dependency mostly shows as a race only, and the
    // result of this run shows other faults.
    for (std::size_t next_local = 0; !ready_.empty() || next_local < local_.size();) {
      if (ready_.empty()) {
        advance(local_[next_local++], true);
        continue;
      }
      const std::uint32_t b = ready_.back();
      ready_.pop_back();
      blocks_[b].queued = false;
      advance(b, false);
    }
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      if (static_cast<std::size_t>(blocks_[b].step) < program_.blocks[b].steps.size())
        out_.stuck.push_back(*wait_of(b));
    }
    out_.complete = out_.stuck.empty();
    return std::move(out_);
  }

 private:
  struct State {
    std::int32_t step = 0;
    std::uint32_t call = 0;
    std::int32_t published = none;
    std::uint32_t waiting = nobody;       // first block in the list of those that wait for this one to publish
    std::uint32_t next_waiting = nobody;  // next block in such a list
    bool queued = false;
    bool listed = false;
    bool put_off = false;
  };

  std::optional<Wait> wait_of(std::uint32_t b) const {
    const State& state = blocks_[b];
    const Program::Block& block = program_.blocks[b];
    const Step& step = block.steps[state.step];
    if (state.call == 0 && step.waits_for != nobody && blocks_[step.waits_for].published < step.waits_step)
      return Wait{b, state.step, 0, WaitKind::dependency, step.waits_for};
    const ir::Effect does = effect(step.op);
    if (does.receives && filled_[step.in] == 0)
      return Wait{b, state.step, state.call, WaitKind::data, program_.connections[step.in].sender};
    if (does.sends && filled_[step.out] >= slots_)
      return Wait{b, state.step, state.call, WaitKind::slot, program_.connections[step.out].receiver};
    return std::nullopt;
  }

  void wake(std::uint32_t b) {
    State& state = blocks_[b];
    if (state.queued || static_cast<std::size_t>(state.step) >= program_.blocks[b].steps.size()) return;
    state.queued = true;
    ready_.push_back(b);
  }

  // Runs calls of the block until it must wait. A step that neither sends nor receives is run only if `local` is true;
  // otherwise the block is put off at this step.
  void advance(std::uint32_t b, bool local) {
    State& state = blocks_[b];
    if (state.put_off && !local) return;
    state.put_off = false;
    const Program::Block& block = program_.blocks[b];
    const std::vector<Step>& steps = block.steps;
    while (static_cast<std::size_t>(state.step) < steps.size()) {
      const Step& step = steps[state.step];
      if (const auto wait = wait_of(b)) {
        if (wait->kind == WaitKind::dependency && !state.listed) {
          state.listed = true;
          state.next_waiting = std::exchange(blocks_[wait->on].waiting, b);
        }
        return;
      }
      const ir::Effect does = effect(step.op);
      if (!does.receives && !does.sends && !local) {
        state.put_off = true;
        local_.push_back(b);
        return;
      }
      if (does.receives && filled_[step.in]-- == slots_) wake(program_.connections[step.in].sender);
      if (does.sends && filled_[step.out]++ == 0) wake(program_.connections[step.out].receiver);
      ++out_.calls;
      if (keep_) out_.order.push_back(b);
      if (++state.call < calls_of(step.count, chunks_)) continue;
      state.call = 0;
      if (step.publishes) publish(state, state.step);
      ++state.step;
    }
  }

  void publish(State& state, std::int32_t step) {
    state.published = step;
    std::uint32_t waiting = std::exchange(state.waiting, nobody);
    while (waiting != nobody) {
      blocks_[waiting].listed = false;
      wake(waiting);
      waiting = std::exchange(blocks_[waiting].next_waiting, nobody);
    }
  }

  const Program& program_;
  const std::uint32_t chunks_;
  const std::uint32_t slots_;
  const bool keep_;
  std::vector<State> blocks_;
  std::vector<std::uint32_t> filled_;  // number of calls that each connection holds
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> local_;
  Schedule out_;
};

}  // namespace

Schedule schedule(const Program& program, std::uint32_t cells_per_call, std::uint32_t slots, bool keep_order) {
  return Run(program, cells_per_call, slots, keep_order).run();
}

std::vector<Wait> cycle_of(const Program& program, const std::vector<Wait>& stuck) {
  std::vector<std::uint32_t> position(program.blocks.size(), nobody);
  for (std::uint32_t i = 0; i < stuck.size(); ++i) position[stuck[i].block] = i;
  std::vector<std::uint32_t> met(stuck.size(), nobody);
  std::vector<Wait> path;
  std::uint32_t at = 0;
  while (met[at] == nobody) {
    met[at] = static_cast<std::uint32_t>(path.size());
    path.push_back(stuck[at]);
    at = position[stuck[at].on];
    if (at == nobody) return path;  // `at` waits for a block that has ended, which rules.hpp of msccl excludes
  }
  path.erase(path.begin(), path.begin() + met[at]);
  return path;
}

}  // namespace moire::proof
