#include "meaning.hpp"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace {

using Content = std::map<std::pair<int, int>, int>;  // (rank, chunk) -> times

// Runs a plan on symbols for whole chunks, with connections of unlimited capacity. The thread blocks take turns.
class Symbolic {
 public:
  explicit Symbolic(const Plan& plan) : plan_(plan), done_(size_t(plan.ranks())) {
    for (int r = 0; r < plan.ranks(); ++r) {
      for (int c = 0; c < plan.input_chunks(r); ++c) at(r, 0, c) = {{{r, c}, 1}};
      done_[size_t(r)].resize(plan.gpus[size_t(r)].blocks.size(), 0);
    }
  }

  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < plan_.ranks(); ++r)
        for (size_t b = 0; b < done_[size_t(r)].size(); ++b)
          while (step(r, b)) moved = true;
    }
    for (int r = 0; r < plan_.ranks(); ++r)
      for (size_t b = 0; b < done_[size_t(r)].size(); ++b)
        if (done_[size_t(r)][b] < plan_.gpus[size_t(r)].blocks[b].steps.size()) return false;
    return true;
  }

  Content& at(int rank, int buffer, int64_t chunk) {
    const Plan::Place p = plan_.place(rank, buffer);
    return cells_[{rank, p.buffer, p.chunk + chunk}];
  }

 private:
  bool step(int r, size_t b) {
    const ThreadBlock& block = plan_.gpus[size_t(r)].blocks[b];
    size_t& pc = done_[size_t(r)][b];
    if (pc == block.steps.size()) return false;
    const Step& s = block.steps[pc];
    if (s.depends_block >= 0 && done_[size_t(r)][size_t(s.depends_block)] <= size_t(s.depends_step)) return false;
    std::vector<Content> moved(size_t(s.count));
    if (receives(s.type)) {
      auto& fifo = fifos_[{block.recv, r, block.channel}];
      if (fifo.empty()) return false;
      moved = fifo.front();
      fifo.pop_front();
    }
    for (int c = 0; c < s.count; ++c) {
      Content& content = moved[size_t(c)];
      if (reads_source(s.type)) add(content, at(r, s.src_buffer, s.src + c));
      if (s.type == StepType::reduce) add(content, at(r, s.dst_buffer, s.dst + c));
      if (writes_target(s.type)) at(r, s.dst_buffer, s.dst + c) = content;
    }
    if (sends(s.type)) fifos_[{r, block.send, block.channel}].push_back(moved);
    ++pc;
    return true;
  }
  static void add(Content& to, const Content& what) {
    for (const auto& [term, times] : what) to[term] += times;
  }

  const Plan& plan_;
  std::map<std::tuple<int, int, int64_t>, Content> cells_;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<Content>>> fifos_;
  std::vector<std::vector<size_t>> done_;
};

}  // namespace

std::vector<Expected> expected_of(const Plan& plan) {
  Symbolic symbolic(plan);
  if (plan.coll == Coll::custom && !symbolic.run()) {
    std::fprintf(stderr, "%s: its steps cannot be run to the end\n", plan.file.c_str());
    std::exit(2);
  }
  std::vector<Expected> all;
  const int n = plan.ranks(), k = int(plan.per_rank());
  for (int r = 0; r < n; ++r) {
    Expected expected(size_t(plan.output_chunks(r)));
    for (int c = 0; c < int(expected.size()); ++c) {
      std::vector<Term>& terms = expected[size_t(c)];
      const auto sum = [&](int chunk) {
        for (int p = 0; p < n; ++p) terms.push_back({p, chunk, 1});
      };
      switch (plan.coll) {
        case Coll::all_reduce:
          sum(c);
          break;
        case Coll::all_gather:
          terms.push_back({c / k, c % k, 1});
          break;
        case Coll::all_to_all:
          terms.push_back({c / k, r * k + c % k, 1});
          break;
        case Coll::reduce_scatter:
          sum(r * k + c);
          break;
        case Coll::broadcast:
          terms.push_back({0, c, 1});
          break;
        case Coll::reduce:
          if (r == 0) sum(c);
          break;
        case Coll::custom:
          for (const auto& [term, times] : symbolic.at(r, 1, c)) terms.push_back({term.first, term.second, times});
          break;
      }
    }
    all.push_back(expected);
  }
  return all;
}
