#include "models/algorithms/msccl/schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace moire::msccl {

namespace {

class Run {
 public:
  Run(const Wiring& wiring, std::uint32_t chunks_per_call, std::uint32_t slots, bool keep_order)
      : wiring_(wiring), chunks_(chunks_per_call), slots_(slots), keep_(keep_order) {
    blocks_.resize(wiring.blocks.size());
    filled_.resize(wiring.connections.size());
  }

  Schedule run() {
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) advance(b, false);
    // Steps within a GPU go last: where a dependency is missing, what it should have waited for is then mostly there,
    // and the result says what is wrong beside the race.
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
      if (static_cast<std::size_t>(blocks_[b].step) < wiring_.blocks[b].steps().size())
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
    std::uint32_t waiting = nobody;       // first of those that wait for what this one publishes
    std::uint32_t next_waiting = nobody;  // behind this one in such a list
    bool queued = false;
    bool listed = false;
    bool put_off = false;
  };

  std::optional<Wait> wait_of(std::uint32_t b) const {
    const State& state = blocks_[b];
    const Wiring::Block& block = wiring_.blocks[b];
    const Step& step = block.steps()[state.step];
    if (state.call == 0 && step.depends_block != none) {
      const std::uint32_t on = wiring_.block(block.gpu, step.depends_block);
      if (blocks_[on].published < step.depends_step) return Wait{b, state.step, 0, WaitKind::dependency, on};
    }
    const Effect does = effect(step.type);
    if (does.receives && filled_[block.in] == 0)
      return Wait{b, state.step, state.call, WaitKind::data, wiring_.connections[block.in].sender};
    if (does.sends && filled_[block.out] >= slots_)
      return Wait{b, state.step, state.call, WaitKind::slot, wiring_.connections[block.out].receiver};
    return std::nullopt;
  }

  void wake(std::uint32_t b) {
    State& state = blocks_[b];
    if (state.queued || static_cast<std::size_t>(state.step) >= wiring_.blocks[b].steps().size()) return;
    state.queued = true;
    ready_.push_back(b);
  }

  // As far as it gets; over steps within the GPU only where `local`.
  void advance(std::uint32_t b, bool local) {
    State& state = blocks_[b];
    if (state.put_off && !local) return;
    state.put_off = false;
    const Wiring::Block& block = wiring_.blocks[b];
    const std::vector<Step>& steps = block.steps();
    while (static_cast<std::size_t>(state.step) < steps.size()) {
      const Step& step = steps[state.step];
      if (const auto wait = wait_of(b)) {
        if (wait->kind == WaitKind::dependency && !state.listed) {
          state.listed = true;
          state.next_waiting = std::exchange(blocks_[wait->on].waiting, b);
        }
        return;
      }
      const Effect does = effect(step.type);
      if (!does.receives && !does.sends && !local) {
        state.put_off = true;
        local_.push_back(b);
        return;
      }
      if (does.receives && filled_[block.in]-- == slots_) wake(wiring_.connections[block.in].sender);
      if (does.sends && filled_[block.out]++ == 0) wake(wiring_.connections[block.out].receiver);
      ++out_.calls;
      if (keep_) out_.order.push_back(b);
      if (++state.call < calls_of(step, chunks_)) continue;
      state.call = 0;
      if (step.has_dependents && step.type != Op::none) publish(state, state.step);
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

  const Wiring& wiring_;
  const std::uint32_t chunks_;
  const std::uint32_t slots_;
  const bool keep_;
  std::vector<State> blocks_;
  std::vector<std::uint32_t> filled_;  // calls in each connection
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> local_;
  Schedule out_;
};

}  // namespace

Schedule schedule(const Wiring& wiring, std::uint32_t chunks_per_call, std::uint32_t slots, bool keep_order) {
  return Run(wiring, chunks_per_call, slots, keep_order).run();
}

std::vector<std::uint32_t> distinct_cuts(const Algorithm& algorithm) {
  std::array<bool, most_chunks + 1> counts{};
  for (const Gpu& gpu : algorithm.gpus) {
    for (const ThreadBlock& block : gpu.blocks) {
      for (const Step& step : block.steps) counts[step.count] = true;
    }
  }
  std::vector<std::uint32_t> cuts = {1};
  for (std::uint32_t chunks = 2; chunks <= most_chunks; ++chunks) {
    for (std::uint32_t count = 1; count <= most_chunks; ++count) {
      if (!counts[count] || (count + chunks - 1) / chunks == (count + chunks - 2) / (chunks - 1)) continue;
      cuts.push_back(chunks);
      break;
    }
  }
  return cuts;
}

}  // namespace moire::msccl
