#include "models/algorithms/proof/blame.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "models/algorithms/proof/execution.hpp"

namespace moire::proof {

namespace {

// A value that a step computed, moved or added. Index 0 among the events stands for memory that nothing has written.
struct Event {
  std::uint32_t first = 0;        // the event with the value it was made from; of an input, the GPU
  std::uint32_t second = 0;       // event with the second operand of a sum; of an input, the chunk
  std::uint32_t replaced_by = 0;  // the event that overwrote its cell; 0: none
  std::uint32_t cell = nobody;
  std::uint32_t block = nobody;  // the block of the step; nobody: an input
  std::int32_t step = 0;
  std::int32_t sender_step = none;  // if received: the step of the sending block
  std::uint32_t reads = 0;          // reads of its cell until the cell was written again
  std::uint32_t forwards = 0;       // how often steps that received this value sent it on
  std::uint64_t number = 0;         // total of its contributions' number_of(); 0: undefined
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

  History(const Program& program, const Layout& layout, const Goal& goal)
      : program_(program), cells_(layout.cells()), events_(1) {
    for (std::int32_t gpu = 0; gpu < program.ranks(); ++gpu) {
      for (std::int64_t chunk = 0; chunk < goal.inputs(gpu); ++chunk) {
        Event input;
        input.first = static_cast<std::uint32_t>(gpu);
        input.second = static_cast<std::uint32_t>(chunk);
        input.number = number_of({gpu, chunk});
        input.cell = layout.cell(gpu, ir::Buffer::input, chunk);
        cells_[input.cell] = add(input);
      }
    }
  }

  Value received(std::uint32_t, std::int32_t, const Message& message) {
    sender_step_ = message.step;
    return message.event;
  }
  Value read(std::uint32_t, std::int32_t, ir::Buffer, std::int64_t, std::uint32_t cell) {
    ++events_[cells_[cell]].reads;
    return cells_[cell];
  }
  Value sum(std::uint32_t b, std::int32_t s, Value first, Value second) {
    Event event = made(b, s);
    event.first = first;
    event.second = second;
    event.is_sum = true;
    const std::uint64_t a = events_[first].number;
    const std::uint64_t other = events_[second].number;
    event.number = a == 0 || other == 0 ? 0 : a + other;
    return add(event);
  }
  Value write(std::uint32_t b, std::int32_t s, std::uint32_t cell, Value value) {
    Event event = made(b, s);
    event.first = value;
    event.cell = cell;
    event.number = events_[value].number;
    const Value made_now = add(event);
    events_[cells_[cell]].replaced_by = made_now;
    return cells_[cell] = made_now;
  }
  Message sent(std::uint32_t b, std::int32_t s, Value value) {
    if (effect(program_.blocks[b].steps[s].op).receives) ++events_[value].forwards;  // otherwise read() has counted it
    return {value, s};
  }

  Value at(std::uint32_t cell) const { return cells_[cell]; }
  const Event& operator[](Value event) const { return events_[event]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(events_.size()); }

 private:
  Event made(std::uint32_t b, std::int32_t s) const {
    Event event;
    event.block = b;
    event.step = s;
    if (effect(program_.blocks[b].steps[s].op).receives) event.sender_step = sender_step_;
    return event;
  }
  Value add(const Event& event) {
    events_.push_back(event);
    return static_cast<Value>(events_.size() - 1);
  }

  const Program& program_;
  std::vector<Value> cells_;
  std::vector<Event> events_;
  std::int32_t sender_step_ = none;
};

// The contributions that a value consists of, sorted.
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
  Detective(const Program& program, const Layout& layout, const Goal& goal, const History& history)
      : program_(program), layout_(layout), goal_(goal), history_(history) {}

  void explain(Wrong& wrong) {
    wrong.expected = goal_.expected(wrong.gpu, wrong.chunk);
    const std::uint32_t last = history_.at(layout_.cell(wrong.gpu, ir::Buffer::output, wrong.chunk));
    if (!find_content(last)) {  // too many ancestors to follow, so the last writer is named
      accuse(last, Fault::incomplete, wrong);
      return;
    }
    const Content found = contents_.at(last);
    wrong.found = found.all;
    wrong.undefined = found.undefined;
    const std::int64_t sum = goal_.sum_at(wrong.gpu, wrong.chunk);
    if (!found.undefined && !clean(found)) {
      accuse_of_joining(first_unclean(last), sum, wrong);
      return;
    }
    if (!found.undefined && goal_.sum_of(found.all[0]) != sum) {
      const std::uint32_t misplaced = first_misplaced(last, goal_.sum_of(found.all[0]));
      accuse(misplaced == last ? taker(last, history_[last].first) : misplaced, Fault::wrong_place, wrong);
      return;
    }
    const std::uint32_t origin = found.undefined ? first_undefined(last) : last;
    if (found.undefined && history_[origin].is_sum) {
      accuse(origin, Fault::added_wrongly, wrong);
    } else if (!find_untaken(wrong, found, sum) && !find_joined(wrong, found)) {
      accuse(origin, origin == 0 || history_[origin].is_input() ? Fault::nobody_wrote : Fault::incomplete, wrong);
    }
  }

 private:
  static constexpr std::size_t most_ancestors = 200'000;
  static constexpr std::size_t most_contributions = 4'000'000;

  // Computes the contents of an event and of all its ancestors. Returns false if there are too many ancestors.
  bool find_content(std::uint32_t number) {
    std::vector<std::uint32_t> open = {number};
    for (std::size_t visits = 0; !open.empty(); ++visits) {
      if (visits > most_ancestors) return false;
      const std::uint32_t event = open.back();
      const std::size_t before = open.size();
      const bool leaf = event == 0 || history_[event].is_input();
      if (!leaf && contents_.count(history_[event].first) == 0) open.push_back(history_[event].first);
      if (!leaf && history_[event].is_sum && contents_.count(history_[event].second) == 0)
        open.push_back(history_[event].second);
      if (open.size() > before) continue;
      open.pop_back();
      if (contents_.count(event) > 0) continue;
      const Content& content = contents_[event] = content_of(event);
      contributions_ += content.all.size();
      if (contributions_ > most_contributions) return false;
    }
    return true;
  }

  Content content_of(std::uint32_t number) {
    if (number == 0) return {{}, true};
    const Event& event = history_[number];
    if (event.is_input()) return {{{static_cast<std::int32_t>(event.first), event.second, 1}}, false};
    return event.is_sum ? joined(contents_.at(event.first), contents_.at(event.second)) : contents_.at(event.first);
  }

  // True if all contributions belong to one sum and none occurs twice.
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

  // Follows a value of the given sum back from `last` to its origin. Returns the earliest event that wrote the value to
  // an output cell that needs another sum; `last` if there is none.
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
    const std::int32_t gpu = program_.blocks[event.block].gpu;
    const std::uint32_t begin = layout_.cell(gpu, ir::Buffer::output, 0);
    const auto outputs = goal_.outputs(gpu);
    return event.cell >= begin && event.cell < begin + outputs && goal_.sum_at(gpu, event.cell - begin) != sum;
  }

  // Finds the step that took a value meant for another step. Follows `operand`, which `event` took, back to its origin.
  // If more than one step used the value at exactly one point of this path, returns the event that took the value
  // there; otherwise returns `event`.
  std::uint32_t taker(std::uint32_t event, std::uint32_t operand) const {
    if (!goal_.uses_inputs_once()) return event;
    std::uint32_t found = 0;
    std::uint32_t takers = 0;
    for (std::uint32_t by = event; operand != 0; by = std::exchange(operand, history_[operand].first)) {
      if (history_[operand].reads + history_[operand].forwards > 1) {
        ++takers;
        found = by;
      }
      if (history_[operand].is_input() || history_[operand].is_sum) break;
    }
    return takers == 1 ? found : event;
  }

  // Accuses a step of adding values that do not belong together. If exactly one other step brought an operand of
  // another sum, accuses that step of taking a value that was meant for another step.
  void accuse_of_joining(std::uint32_t event, std::int64_t sum, Wrong& wrong) const {
    std::uint32_t made = event;
    while (made != 0 && !history_[made].is_input() && !history_[made].is_sum) made = history_[made].first;
    if (made != 0 && history_[made].is_sum) {
      for (const std::uint32_t operand : {history_[made].first, history_[made].second}) {
        const Content& content = contents_.at(operand);
        if (content.undefined || content.all.empty() || !clean(content) || goal_.sum_of(content.all[0]) == sum)
          continue;
        if (const std::uint32_t by = taker(made, operand); by != made) {
          accuse(by, Fault::wrong_place, wrong);
          return;
        }
      }
    }
    accuse(event, Fault::added_wrongly, wrong);
  }

  // Looks for the first value that contains a contribution which the wrong output lacks, and that no step read. Either
  // the write that replaced this value should have added to it, or the value was written to the wrong place. Returns
  // false if there is no such value.
  bool find_untaken(Wrong& wrong, const Content& found, std::int64_t sum) {
    const std::vector<Contribution> missing = missing_in(wrong, found);
    const auto is_missed = [&](std::uint32_t number) {
      const Content& content = contents_.at(number);
      return clean(content) && !content.all.empty() && goal_.sum_of(content.all[0]) == sum &&
             std::any_of(content.all.begin(), content.all.end(),
                         [&](const Contribution& c) { return std::binary_search(missing.begin(), missing.end(), c); });
    };
    constexpr std::size_t most_candidates = 1000;
    std::size_t candidates = 0;
    for (std::uint32_t number = 1; number < history_.size(); ++number) {
      const Event& event = history_[number];
      if (event.cell == nobody || event.reads > 0 || is_right_output(number)) continue;
      if (event.is_input() && event.replaced_by == 0) continue;
      if (++candidates > most_candidates || !find_content(number)) return false;
      if (!is_missed(number)) continue;
      const std::uint32_t by = event.replaced_by;
      if (by != 0 && find_content(by) && clean(contents_.at(by)) && goal_.sum_of(contents_.at(by).all[0]) == sum) {
        accuse(by, Fault::overwrote, wrong);
        return true;
      }
      if (event.is_input()) continue;
      accuse(number, Fault::wrong_place, wrong);
      return true;
    }
    return false;
  }

  // Looks for the first wrong sum that contains a contribution which the wrong output lacks. Returns false if there is
  // no such sum.
  bool find_joined(Wrong& wrong, const Content& found) {
    const std::vector<Contribution> missing = missing_in(wrong, found);
    constexpr std::size_t most_sums = 100'000;
    std::size_t sums = 0;
    for (std::uint32_t number = 1; number < history_.size(); ++number) {
      if (!history_[number].is_sum) continue;
      if (++sums > most_sums || !find_content(number)) return false;
      const Content& content = contents_.at(number);
      if (content.undefined || clean(content)) continue;
      if (std::none_of(content.all.begin(), content.all.end(),
                       [&](const Contribution& c) { return std::binary_search(missing.begin(), missing.end(), c); }))
        continue;
      accuse(number, Fault::added_wrongly, wrong);
      return true;
    }
    return false;
  }

  static std::vector<Contribution> missing_in(const Wrong& wrong, const Content& found) {
    std::vector<Contribution> missing;
    std::set_difference(wrong.expected.begin(), wrong.expected.end(), found.all.begin(), found.all.end(),
                        std::back_inserter(missing));
    return missing;
  }

  // Follows an undefined value back, and returns the first event that used unwritten memory.
  std::uint32_t first_undefined(std::uint32_t event) const {
    while (event != 0 && !history_[event].is_input()) {
      const Event& at = history_[event];
      const std::uint32_t from = at.is_sum && !contents_.at(at.first).undefined ? at.second : at.first;
      if (from == 0) break;
      event = from;
    }
    return event;
  }
  bool is_right_output(std::uint32_t number) const {
    const Event& event = history_[number];
    if (event.is_input() || event.replaced_by != 0) return false;
    const std::int32_t gpu = program_.blocks[event.block].gpu;
    const std::uint32_t begin = layout_.cell(gpu, ir::Buffer::output, 0);
    if (event.cell < begin || event.cell >= begin + goal_.outputs(gpu)) return false;
    return event.number == goal_.number_at(gpu, event.cell - begin);
  }

  void accuse(std::uint32_t number, Fault fault, Wrong& wrong) const {
    wrong.fault = fault;
    if (number == 0 || history_[number].is_input()) return;
    const Event& event = history_[number];
    const Program::Block& block = program_.blocks[event.block];
    wrong.by = {block.gpu, block.index, event.step};
    if (event.sender_step == none) return;
    const Program::Block& sender = program_.blocks[program_.connections[block.steps[event.step].in].sender];
    wrong.sender = {sender.gpu, sender.index, event.sender_step};
  }

  const Program& program_;
  const Layout& layout_;
  const Goal& goal_;
  const History& history_;
  std::unordered_map<std::uint32_t, Content> contents_;
  std::size_t contributions_ = 0;
};

}  // namespace

void explain(const Program& program, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
             std::uint32_t cells_per_call, Wrong& wrong) {
  History history(program, layout, goal);
  carry<Message>(program, layout, order, cells_per_call, history);
  Detective(program, layout, goal, history).explain(wrong);
}

}  // namespace moire::proof
