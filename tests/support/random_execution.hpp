// Runs a program of thread blocks on numbers, cell by cell, in a random order that the program's waits allow. It has
// the prover's data structures for steps, memory and goal, but executes the program instead of proving it, so that
// tests can compare both results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "models/algorithms/proof/goal.hpp"
#include "models/algorithms/proof/program.hpp"

namespace moire::proof {

class RandomExecution {
 public:
  enum class End { right, wrong, deadlock };

  RandomExecution(const Program& program, const Layout& layout, const Goal& goal, std::uint32_t cells_per_call,
                  std::uint32_t slots, std::uint64_t seed)
      : program_(program),
        layout_(layout),
        goal_(goal),
        cells_(cells_per_call),
        slots_(slots),
        random_(seed),
        memory_(layout.cells()),
        links_(program.connections.size()),
        places_(program.blocks.size()) {
    for (std::uint64_t& cell : memory_) cell = random_();  // memory that was not written holds arbitrary values
    for (std::int32_t g = 0; g < program.ranks(); ++g) {
      for (std::int64_t c = 0; c < goal.inputs(g); ++c) inputs_[{g, c}] = memory_[layout.cell(g, ir::Buffer::input, c)];
    }
  }

  End run() {
    // Makes some blocks slow while 64 cells are executed. Such long delays find errors that short delays do not find.
    std::set<std::size_t> slow;
    for (std::uint64_t tick = 0;; ++tick) {
      if (tick % 64 == 0) {
        slow.clear();
        for (std::size_t p = 0; p < places_.size(); ++p) {
          if (random_() % 3 == 0) slow.insert(p);
        }
      }
      std::vector<std::size_t> able;
      std::vector<std::size_t> fast;
      bool all_done = true;
      for (std::size_t p = 0; p < places_.size(); ++p) {
        if (places_[p].step == program_.blocks[p].steps.size()) continue;
        all_done = false;
        if (!can_go(p)) continue;
        able.push_back(p);
        if (slow.count(p) == 0) fast.push_back(p);
      }
      if (all_done) return right() ? End::right : End::wrong;
      if (able.empty()) return End::deadlock;
      const std::vector<std::size_t>& from = fast.empty() ? able : fast;
      go(from[random_() % from.size()]);
    }
  }

 private:
  struct Place {
    std::size_t step = 0;
    std::uint32_t cell = 0;  // index of the next cell of the step
    std::int32_t published = none;
    std::vector<std::uint64_t> incoming = {};
    std::vector<std::uint64_t> outgoing = {};
    bool in_call = false;
  };

  const Step& step(std::size_t p) const { return program_.blocks[p].steps[places_[p].step]; }

  bool can_go(std::size_t p) const {
    const Step& st = step(p);
    if (places_[p].in_call) return true;
    if (places_[p].cell == 0 && st.waits_for != nobody && places_[st.waits_for].published < st.waits_step) return false;
    const ir::Effect does = ir::effect(st.op);
    return !(does.receives && links_[st.in].empty()) && !(does.sends && links_[st.out].size() >= slots_);
  }

  // Executes one cell of a step. A call, which handles up to `cells_` cells, reads its message when it begins. When it
  // ends, it removes this message from the FIFO and sends its own message.
  void go(std::size_t p) {
    Place& at = places_[p];
    const Step& st = step(p);
    const ir::Effect does = ir::effect(st.op);
    if (st.op == ir::Op::none) {
      ++at.step;
      return;
    }
    if (!at.in_call && does.receives) at.incoming = links_[st.in].front();
    at.in_call = true;
    const std::int32_t gpu = program_.blocks[p].gpu;
    std::uint64_t& dst = memory_[does.writes_dst ? layout_.cell(gpu, st.dst_buffer, st.dst_offset + at.cell) : 0];
    std::uint64_t value = does.receives ? at.incoming[at.cell % cells_] : does.reads_dst ? dst : 0;
    if (does.reads_src) value += memory_[layout_.cell(gpu, st.src_buffer, st.src_offset + at.cell)];
    if (does.writes_dst) dst = value;
    if (does.sends) at.outgoing.push_back(value);
    ++at.cell;
    if (at.cell % cells_ != 0 && at.cell < st.count) return;
    at.in_call = false;
    if (does.receives) links_[st.in].pop_front();
    if (does.sends) links_[st.out].push_back(std::exchange(at.outgoing, {}));
    if (at.cell < st.count) return;
    if (st.publishes) at.published = static_cast<std::int32_t>(at.step);
    ++at.step;
    at.cell = 0;
  }

  bool right() const {
    for (std::int32_t g = 0; g < program_.ranks(); ++g) {
      for (std::int64_t c = 0; c < goal_.outputs(g); ++c) {
        std::uint64_t sum = 0;
        for (const Contribution& from : goal_.expected(g, c)) sum += inputs_.at({from.gpu, from.chunk});
        if (memory_[layout_.cell(g, ir::Buffer::output, c)] != sum) return false;
      }
    }
    return true;
  }

  const Program& program_;
  const Layout& layout_;
  const Goal& goal_;
  const std::uint32_t cells_;
  const std::uint32_t slots_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> memory_;
  std::vector<std::deque<std::vector<std::uint64_t>>> links_;
  std::vector<Place> places_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::uint64_t> inputs_;
};

}  // namespace moire::proof
