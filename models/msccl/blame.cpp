#include "models/msccl/blame.hpp"

#include <algorithm>
#include <unordered_map>

#include "models/msccl/execution.hpp"

namespace moire::models::msccl {

namespace {

// A value that a step made, moved or joined. Number 0 is what nobody wrote.
struct Event {
  std::uint32_t first = 0;   // what it was made of; of an input: GPU and chunk
  std::uint32_t second = 0;  // of a sum
  std::uint32_t overwritten = 0;
  std::uint32_t cell = nobody;
  std::uint32_t block = nobody;  // nobody: an input
  std::int32_t step = 0;
  std::int32_t sender_step = none;  // of the block at the other end, where it was received
  bool is_sum = false;
  bool is_input() const { return block == nobody; }
};

struct Message {
  std::uint32_t event = 0;
  std::int32_t step = none;
};

class History {
 public:
  using Value = std::uint32_t;

  History(const Wiring& wiring, const Layout& layout, const Goal& goal)
      : wiring_(wiring), cells_(layout.cells()), events_(1) {
    for (std::int32_t gpu = 0; gpu < wiring.algorithm.ranks(); ++gpu) {
      for (std::int64_t chunk = 0; chunk < goal.inputs(gpu); ++chunk) {
        Event input;
        input.first = static_cast<std::uint32_t>(gpu);
        input.second = static_cast<std::uint32_t>(chunk);
        input.cell = layout.cell(gpu, Buffer::input, chunk);
        cells_[input.cell] = add(input);
      }
    }
  }

  Value received(std::uint32_t, std::int32_t, const Message& message) {
    sender_step_ = message.step;
    return message.event;
  }
  Value read(std::uint32_t, std::int32_t, Buffer, std::int64_t, std::uint32_t cell) const { return cells_[cell]; }
  Value sum(std::uint32_t b, std::int32_t s, Value first, Value second) {
    Event event = made(b, s);
    event.first = first;
    event.second = second;
    event.is_sum = true;
    return add(event);
  }
  Value write(std::uint32_t b, std::int32_t s, std::uint32_t cell, Value value) {
    Event event = made(b, s);
    event.first = value;
    event.cell = cell;
    event.overwritten = cells_[cell];
    return cells_[cell] = add(event);
  }
  Message sent(std::uint32_t, std::int32_t s, Value value) const { return {value, s}; }

  Value at(std::uint32_t cell) const { return cells_[cell]; }
  const Event& operator[](Value event) const { return events_[event]; }

 private:
  Event made(std::uint32_t b, std::int32_t s) const {
    Event event;
    event.block = b;
    event.step = s;
    if (effect(wiring_.blocks[b].steps()[s].type).receives) event.sender_step = sender_step_;
    return event;
  }
  Value add(const Event& event) {
    events_.push_back(event);
    return static_cast<Value>(events_.size() - 1);
  }

  const Wiring& wiring_;
  std::vector<Value> cells_;
  std::vector<Event> events_;
  std::int32_t sender_step_ = none;
};

// What a value consists of, in order.
struct Content {
  std::vector<Contribution> all;
  bool undefined = false;
};

bool same_input(const Contribution& a, const Contribution& b) { return a.gpu == b.gpu && a.chunk == b.chunk; }

Content joined(const Content& a, const Content& b) {
  Content sum;
  sum.undefined = a.undefined || b.undefined;
  std::merge(a.all.begin(), a.all.end(), b.all.begin(), b.all.end(), std::back_inserter(sum.all));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sum.all.size(); ++i) {
    if (kept > 0 && same_input(sum.all[kept - 1], sum.all[i])) {
      sum.all[kept - 1].times = std::min<std::uint64_t>(sum.all[kept - 1].times + sum.all[i].times, 1'000'000);
    } else {
      sum.all[kept++] = sum.all[i];
    }
  }
  sum.all.resize(kept);
  return sum;
}

class Detective {
 public:
  Detective(const Wiring& wiring, const Layout& layout, const Goal& goal, const History& history)
      : wiring_(wiring), layout_(layout), goal_(goal), history_(history) {}

  void explain(std::uint32_t lies_in, Wrong& wrong) {
    wrong.expected = goal_.expected(wrong.gpu, wrong.chunk);
    const std::uint32_t last = history_.at(layout_.cell(wrong.gpu, Buffer::output, wrong.chunk));
    if (!find_contents(last)) {  // too large a tale; who wrote it is known still
      accuse(last, Fault::incomplete, wrong);
      return;
    }
    const Content& found = contents_.at(last);
    wrong.found = found.all;
    wrong.undefined = found.undefined;
    if (lies_in != nobody) {
      accuse(history_.at(lies_in), Fault::wrong_place, wrong);
      return;
    }
    if (last == 0 || history_[last].is_input()) {
      wrong.fault = Fault::nobody_wrote;
      return;
    }
    const std::int64_t sum = goal_.sum_at(wrong.gpu, wrong.chunk);
    if (!clean(found)) {
      accuse(first_unclean(last), Fault::added_wrongly, wrong);
    } else if (!found.all.empty() && goal_.sum_of(found.all[0]) != sum) {
      accuse(first_misplaced(last, goal_.sum_of(found.all[0])), Fault::wrong_place, wrong);
    } else if (const std::uint32_t event = first_loss(wrong.expected, found); event != 0) {
      accuse(event, Fault::overwrote, wrong);
    } else {
      accuse(last, Fault::incomplete, wrong);
    }
  }

 private:
  static constexpr std::size_t most_ancestors = 200'000;
  static constexpr std::size_t most_contributions = 4'000'000;

  // Contents of an event, all it was made of, and what these replaced. False where that is too much.
  bool find_contents(std::uint32_t last) {
    std::vector<std::uint32_t> open = {last};
    std::unordered_map<std::uint32_t, bool> seen;
    for (; !open.empty();) {
      const std::uint32_t event = open.back();
      open.pop_back();
      if (!seen.try_emplace(event, true).second) continue;
      ancestors_.push_back(event);
      if (ancestors_.size() > most_ancestors) return false;
      if (event == 0 || history_[event].is_input()) continue;
      open.push_back(history_[event].first);
      open.push_back(history_[event].overwritten);
      if (history_[event].is_sum) open.push_back(history_[event].second);
    }
    std::sort(ancestors_.begin(), ancestors_.end());
    std::size_t contributions = 0;
    for (const std::uint32_t event : ancestors_) {
      const Content& content = contents_[event] = content_of(event);
      contributions += content.all.size();
      if (contributions > most_contributions) return false;
    }
    return true;
  }

  Content content_of(std::uint32_t number) {
    if (number == 0) return {{}, true};
    const Event& event = history_[number];
    if (event.is_input()) return {{{static_cast<std::int32_t>(event.first), event.second, 1}}, false};
    return event.is_sum ? joined(contents_.at(event.first), contents_.at(event.second)) : contents_.at(event.first);
  }

  // Contributions to one sum, none of them twice.
  bool clean(const Content& content) const {
    return !content.undefined && std::all_of(content.all.begin(), content.all.end(), [&](const Contribution& c) {
      return c.times == 1 && goal_.sum_of(c) == goal_.sum_of(content.all[0]);
    });
  }

  std::uint32_t first_unclean(std::uint32_t event) const {
    for (;;) {
      const auto worse = [&](std::uint32_t operand) {
        return operand != 0 && !history_[operand].is_input() && !clean(contents_.at(operand));
      };
      if (worse(history_[event].first)) {
        event = history_[event].first;
      } else if (history_[event].is_sum && worse(history_[event].second)) {
        event = history_[event].second;
      } else {
        return event;
      }
    }
  }

  // The first on a value's way that put it where another belongs.
  std::uint32_t first_misplaced(std::uint32_t last, std::int64_t sum) const {
    std::uint32_t found = last;
    for (std::uint32_t event = last; event != 0 && !history_[event].is_input(); event = history_[event].first) {
      if (history_[event].is_sum) break;
      if (belongs_elsewhere(history_[event], sum)) found = event;
    }
    return found;
  }
  bool belongs_elsewhere(const Event& event, std::int64_t sum) const {
    if (event.cell == nobody) return false;
    const std::int32_t gpu = wiring_.blocks[event.block].gpu;
    const std::uint32_t begin = layout_.cell(gpu, Buffer::output, 0);
    const auto outputs = goal_.outputs(gpu);
    return event.cell >= begin && event.cell < begin + outputs && goal_.sum_at(gpu, event.cell - begin) != sum;
  }

  // The first that replaced a contribution which is missed in the end.
  std::uint32_t first_loss(const std::vector<Contribution>& expected, const Content& found) const {
    std::vector<Contribution> missing;
    std::set_difference(expected.begin(), expected.end(), found.all.begin(), found.all.end(),
                        std::back_inserter(missing));
    for (const std::uint32_t number : ancestors_) {
      if (number == 0 || history_[number].is_input() || history_[number].overwritten == 0) continue;
      const std::vector<Contribution>& now = contents_.at(number).all;
      for (const Contribution& lost : contents_.at(history_[number].overwritten).all) {
        if (std::binary_search(missing.begin(), missing.end(), lost) &&
            !std::binary_search(now.begin(), now.end(), lost))
          return number;
      }
    }
    return 0;
  }

  void accuse(std::uint32_t number, Fault fault, Wrong& wrong) const {
    wrong.fault = fault;
    if (number == 0 || history_[number].is_input()) return;
    const Event& event = history_[number];
    const Wiring::Block& block = wiring_.blocks[event.block];
    wrong.by = {block.gpu, block.index, event.step};
    if (event.sender_step == none) return;
    const Wiring::Block& sender = wiring_.blocks[wiring_.connections[block.in].sender];
    wrong.sender = {sender.gpu, sender.index, event.sender_step};
  }

  const Wiring& wiring_;
  const Layout& layout_;
  const Goal& goal_;
  const History& history_;
  std::vector<std::uint32_t> ancestors_;
  std::unordered_map<std::uint32_t, Content> contents_;
};

}  // namespace

void explain(const Wiring& wiring, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
             std::uint32_t chunks_per_call, std::uint32_t lies_in, Wrong& wrong) {
  History history(wiring, layout, goal);
  carry<Message>(wiring, layout, order, chunks_per_call, history);
  Detective(wiring, layout, goal, history).explain(lies_in, wrong);
}

}  // namespace moire::models::msccl
