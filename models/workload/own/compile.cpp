// Over 400 lines: one class compiles every kind of step.
#include "models/workload/own/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/hardware/memory/cache.hpp"
#include "sim/config/suggest.hpp"

namespace moire::own {

namespace {

using Op = Instruction::Op;

constexpr std::uint32_t deepest = 16;  // nesting depth of steps

double element_bytes(Element element) { return element == Element::fp32 ? 4 : 2; }

program::Arithmetic arithmetic(Unit unit) {
  return unit == Unit::matrix ? program::Arithmetic::matrix_16bit : program::Arithmetic::vector_fp32;
}

// Returns the shape of a phase whose peer is the rank itself: accesses to the peer's memory become local accesses.
program::PhaseShape with_itself(program::PhaseShape shape) {
  shape.read += shape.peer_read;
  shape.write += shape.peer_write;
  shape.peer_read = shape.peer_write = 0;
  return shape;
}

class Compiler {
 public:
  Compiler(const OwnKernelSpec& spec, const builder::Builder& build, const Names& constants,
           const std::vector<NamedFlags>& flags, config::Diagnostics& diagnostics)
      : spec_(spec), build_(build), constants_(constants), flags_(flags), diagnostics_(diagnostics) {}

  std::optional<Compiled> run(std::int64_t workgroups, const config::Node& node) {
    const std::size_t before = diagnostics_.size();
    script_->reach = build_.reach();
    script_->ranks = build_.ranks();
    script_->has_nics = build_.system.node.nics > 0;
    script_->workgroups = workgroups;
    for (const auto& [name, value] : constants_.visible()) known(name, *value);
    known("workgroups", static_cast<double>(workgroups));
    script_->rank = known("rank", 0);
    script_->node = known("node", 0);
    script_->gpu = known("gpu", 0);
    script_->workgroup = known("workgroup", 0);
    const config::Node* list = node.find("steps");
    steps(spec_.steps, *list, 0);
    end(list->place);
    if (take_) {
      script_->items_begin = here();
      in_item_ = true;
      script_->item_slot = slots(1, take_->spec->each, take_->node->place);
      steps(take_->spec->steps, *take_->node->find("do"), 1);
      end(take_->node->place);
    }
    if (diagnostics_.size() > before) return std::nullopt;
    return Compiled{script_, std::move(shapes_)};
  }

 private:
  struct Take {
    const TakeSpec* spec;
    const config::Node* node;
  };

  double* known(const std::string& name, double value) {
    std::string why;
    return script_->names.add(name, value, why);
  }
  std::uint32_t here() const { return static_cast<std::uint32_t>(script_->instructions.size()); }
  Instruction& add(Op op, const config::Place& place) {
    Instruction& instruction = script_->instructions.emplace_back();
    instruction.op = op;
    instruction.place = place;
    return instruction;
  }
  void end(const config::Place& place) { add(Op::phase, place); }  // a phase of kind nothing ends the script

  // Adds `count` consecutive slots (variables of a workgroup) and returns the index of the first one. The first slot
  // gets the name. Names that begin with _ are internal.
  std::uint32_t slots(std::size_t count, const std::string& name, const config::Place& place) {
    const auto first = static_cast<std::uint32_t>(script_->slots.size());
    std::string why;
    double* named = script_->names.add(name, 0, why);
    if (named == nullptr) diagnostics_.error(place, why, "use another name");
    for (std::size_t i = 0; i < count; ++i) {
      script_->slots.push_back(i == 0 && named != nullptr ? named : &hidden());
      script_->slot_names.push_back({i == 0 && !name.starts_with('_') ? name : "", here()});
    }
    return first;
  }
  // Calls `inside`, and then hides the names that it added.
  template <class Inside>
  void scope(const Inside& inside) {
    const std::size_t names = script_->names.count(), first = script_->slot_names.size();
    inside();
    script_->names.hide_from(names);
    for (std::size_t i = first; i < script_->slot_names.size(); ++i)
      script_->slot_names[i].end = std::min(script_->slot_names[i].end, here());
  }
  double& hidden() {
    std::string why;
    double* made = script_->names.add(fmt::format("_{}", hidden_++), 0, why);
    script_->names.hide_from(script_->names.count() - 1);
    return *made;
  }

  std::optional<Formula> formula(const FormulaText& text, std::string_view key) {
    auto made = Formula::compile(text, key, script_->names, diagnostics_);
    if (made && in_item_ && made->uses(script_->workgroup)) {
      diagnostics_.error(text.place, "a formula of 'take' uses the workgroup",
                         "use other names: any free workgroup takes the next value");
    }
    return made;
  }
  std::optional<Formula> formula(const std::optional<FormulaText>& text, std::string_view key, const char* usual,
                                 const config::Place& place) {
    return formula(text.value_or(FormulaText{usual, place}), key);
  }
  double demand(const std::optional<FormulaText>& text, std::string_view key) {
    return text ? constant(*text, key, constants_, 0, most_demand, diagnostics_).value_or(0) : 0;
  }

  void steps(const std::vector<StepSpec>& list, const config::Node& node, std::uint32_t depth) {
    if (depth > deepest)
      diagnostics_.error(node.place, "steps are nested too deeply", fmt::format("nest them at most {} deep", deepest));
    if (list.empty()) diagnostics_.error(node.place, "the list has no steps", "write [{load: {bytes: 1 MiB}}]");
    scope([&] {
      for (std::size_t i = 0; i < list.size() && depth <= deepest; ++i) step(list[i], node.items[i], depth);
    });
  }

  void step(const StepSpec& step, const config::Node& node, std::uint32_t depth) {
    if (node.entries.size() != 1) {
      diagnostics_.error(node.place, fmt::format("the step has {} keys", node.entries.size()),
                         "write one key per step: [{load: {...}}, {math: {...}}]");
      return;
    }
    const config::Node& inner = node.entries.front().value;
    const config::Place& place = node.entries.front().key_place;
    if (step.load) return load(*step.load, place);
    if (step.store) return store(*step.store, place);
    if (step.math) return math(*step.math, place);
    if (step.reduce) return reduce(*step.reduce, place);
    if (step.work) return work(*step.work, place);
    if (step.put) return put(*step.put, inner, place);
    if (step.copy) return copy(*step.copy, inner, place);
    if (step.signal) return signal(*step.signal, inner, place);
    if (step.wait) return wait(*step.wait, inner, place);
    if (step.fence) return fence(*step.fence, place);
    if (step.pause) return pause(*step.pause, place);
    if (step.let) return let(*step.let, inner);
    if (step.loop) return loop(*step.loop, inner, depth);
    if (step.peers) return peers(*step.peers, inner, depth);
    if (step.take) return take(*step.take, inner, depth);
    if (step.branch) return branch(*step.branch, inner, depth);
    diagnostics_.error(place, "the step is empty", "write its keys, or remove the step");
  }

  // --- phases ---

  program::PhaseShape shape_of(const std::string& name, const std::optional<Bytes>& in_flight) const {
    program::PhaseShape shape;
    shape.name = name;
    shape.threads = spec_.threads;
    shape.in_flight = in_flight.value_or(spec_.loads_in_flight());
    return shape;
  }
  Instruction& timed(Phase::Kind kind, const config::Place& place) {
    Instruction& made = add(Op::phase, place);
    made.phase.kind = kind;
    return made;
  }
  Instruction& worked(program::PhaseShape shape, const FormulaText& amount, std::string_view key,
                      const std::optional<FormulaText>& peer, std::string_view peer_key, const config::Place& place) {
    Instruction& made = timed(Phase::Kind::work, place);
    made.first = formula(amount, key);
    made.phase.shape = static_cast<std::uint16_t>(shapes_.size());
    shapes_.push_back(shape);
    if (peer) {
      made.second = formula(*peer, peer_key);
      made.own_shape = static_cast<std::uint16_t>(shapes_.size());
      shapes_.push_back(with_itself(std::move(shape)));
    }
    return made;
  }

  void load(const LoadSpec& load, const config::Place& place) {
    program::PhaseShape shape = shape_of(load.name, load.in_flight);
    (load.from ? shape.peer_read : shape.read) = 1;
    shape.read_miss = load.cache_miss;
    if (load.row) {
      memory::loads_rows(build_.gpu().hbm, *load.row, shape);
      shape.random_rows = !load.pipelined;
    }
    shape.pipelined = load.pipelined;
    worked(std::move(shape), load.bytes, "bytes", load.from, "from", place);
  }

  void store(const StoreSpec& store, const config::Place& place) {
    program::PhaseShape shape = shape_of(store.name, store.in_flight);
    (store.to ? shape.peer_write : shape.write) = 1;
    shape.write_miss = store.cache_miss;
    worked(std::move(shape), store.bytes, "bytes", store.to, "to", place).phase.posted = store.posted;
  }

  void math(const MathSpec& math, const config::Place& place) {
    program::PhaseShape shape = shape_of(math.name, {});
    shape.flop = 1;
    shape.unit = arithmetic(math.unit);
    shape.power = math.unit == Unit::matrix ? 1 : 0;
    worked(std::move(shape), math.flop, "flop", {}, "", place);
  }

  void reduce(const ReduceSpec& reduce, const config::Place& place) {
    program::PhaseShape shape = shape_of(reduce.name, reduce.in_flight);
    const double sources = demand(reduce.sources, "sources");
    if (sources < 1)
      diagnostics_.error(reduce.sources.place, fmt::format("'sources' is {:.10g}", sources), "write 1 or more");
    shape.read = sources;
    shape.write = 1;
    shape.flop = std::max(0.0, sources - 1) / element_bytes(reduce.dtype);
    shape.read_miss = shape.write_miss = reduce.cache_miss;
    shape.pipelined = false;
    worked(std::move(shape), reduce.bytes, "bytes", {}, "", place);
  }

  void work(const WorkSpec& work, const config::Place& place) {
    program::PhaseShape shape = shape_of(work.name, work.in_flight);
    shape.read = demand(work.read, "read");
    shape.write = demand(work.write, "write");
    shape.flop = demand(work.flop, "flop");
    shape.instructions.all = demand(work.instructions, "instructions");
    shape.peer_read = demand(work.peer_read, "peer_read");
    shape.peer_write = demand(work.peer_write, "peer_write");
    shape.unit = arithmetic(work.unit);
    shape.power = work.unit == Unit::matrix && shape.flop > 0 ? 1 : 0;
    shape.read_miss = work.read_miss;
    shape.write_miss = work.write_miss;
    if (work.row) memory::loads_rows(build_.gpu().hbm, *work.row, shape);
    shape.mixed_stores = work.mixed_stores.value_or(-1);
    shape.dependent_loads = work.dependent_loads;
    shape.dependent_read = work.dependent_read.value;
    const double missed = shape.read * shape.read_miss;
    if (shape.dependent_read > 0 && (shape.dependent_read >= shape.read || shape.dependent_read > missed))
      diagnostics_.error(place,
                         fmt::format("dependent_read is {:.10g} B of {:.10g} B", shape.dependent_read, shape.read),
                         fmt::format("write less than read, and at most read x read_miss, {:.10g} B", missed));
    shape.pause = work.pause;
    shape.held = work.held;
    shape.random_rows = work.random_rows;
    shape.walk = work.walk;
    shape.pipelined = work.pipelined;
    worked(std::move(shape), work.amount.value_or(FormulaText{"1", place}), "amount", work.peer, "peer", place)
        .phase.posted = work.posted;
  }

  // --- messages and flags ---

  program::FlagBlock block_of(const std::string& name, const config::Place& place) {
    const auto found =
        std::find_if(flags_.begin(), flags_.end(), [&](const NamedFlags& flags) { return flags.name == name; });
    if (found != flags_.end()) return found->block;
    std::vector<std::string> names;
    for (const NamedFlags& flags : flags_) names.push_back(flags.name);
    diagnostics_.error(
        place, "the kernel has no flags " + config::in_quotes(name),
        names.empty() ? "write flags: {" + name + ": 1} next to its steps" : config::suggestion(name, names, "flags"));
    return {};
  }
  void flag(const std::string& name, const std::optional<FormulaText>& index, const config::Node& node,
            Instruction& made) {
    made.flag = block_of(name, node.find("flag")->place);
    made.third = formula(index, "index", "0", made.place);
  }
  void gate(const std::optional<LastSpec>& last, const config::Node& node, Instruction& made) {
    if (!last) return;
    made.gate = block_of(last->counter, node.find("last")->find("counter")->place);
    made.gate_index = formula(last->index, "index", "0", made.place);
    made.gate_of = formula(last->of, "of");
  }
  void message(const FormulaText& to, const FormulaText& bytes, Instruction& made) {
    made.first = formula(bytes, "bytes");
    made.second = formula(to, "to");
  }

  void put(const PutSpec& put, const config::Node& node, const config::Place& place) {
    Instruction& made = timed(Phase::Kind::put, place);
    message(put.to, put.bytes, made);
    made.queue_pair = formula(put.queue_pair, "queue_pair", "0", place);
    made.phase.proxied = put.proxied;
    flag(put.flag, put.index, node, made);
    gate(put.last, node, made);
  }
  void copy(const CopySpec& copy, const config::Node& node, const config::Place& place) {
    Instruction& made = timed(Phase::Kind::put, place);
    message(copy.to, copy.bytes, made);
    made.phase.proxied = made.by_copy = true;
    flag(copy.flag, copy.index, node, made);
  }
  void signal(const SignalSpec& signal, const config::Node& node, const config::Place& place) {
    Instruction& made = timed(Phase::Kind::signal, place);
    made.second = formula(signal.to, "to");
    flag(signal.flag, signal.index, node, made);
    gate(signal.last, node, made);
  }
  void wait(const WaitSpec& wait, const config::Node& node, const config::Place& place) {
    Instruction& made = timed(Phase::Kind::wait, place);
    made.first = formula(wait.count, "count");
    flag(wait.flag, wait.index, node, made);
  }
  void fence(const FenceSpec& fence, const config::Place& place) {
    timed(Phase::Kind::fence, place).phase.duration = fence.time.value_or(build_.gpu().port.fence);
  }
  void pause(const PauseSpec& pause, const config::Place& place) {
    Instruction& made = timed(Phase::Kind::delay, place);
    made.phase.duration = pause.time;
    made.first = formula(pause.times, "times", "1", place);
  }

  // --- steps that take no time ---

  void let(const std::vector<std::pair<std::string, FormulaText>>& values, const config::Node& node) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto value = formula(values[i].second, values[i].first);
      Instruction& made = add(Op::let, values[i].second.place);
      made.first = std::move(value);
      const std::uint32_t slot = slots(1, values[i].first, node.entries[i].key_place);
      script_->instructions.back().slot = slot;
    }
  }

  void loop(const ForSpec& loop, const config::Node& node, std::uint32_t depth) {
    auto from = formula(loop.from, "from", "0", node.place);
    auto below = formula(loop.below, "below");
    auto step = formula(loop.step, "step", "1", node.place);
    scope([&] {
      around(loop.each, std::move(from), std::move(below), std::move(step), node,
             [&] { steps(loop.steps, *node.find("do"), depth + 1); });
    });
  }
  template <class Inside>
  void around(const std::string& each, std::optional<Formula> from, std::optional<Formula> below,
              std::optional<Formula> step, const config::Node& node, const Inside& inside) {
    const config::Node* named = node.find("each");
    const std::uint32_t enter = here();
    Instruction& begin = add(Op::enter, node.place);
    const std::uint32_t slot = begin.slot = slots(3, each, named ? named->place : node.place);
    begin.first = std::move(from);
    begin.second = std::move(below);
    begin.third = std::move(step);
    inside();
    Instruction& again = add(Op::next, node.place);
    again.slot = slot;
    again.to = enter + 1;
    script_->instructions[enter].to = here();
  }

  // Visits peers in an order that is relative to the rank, so that no two ranks visit the same peer in the same turn.
  // The order begins with the rank after this one, in the node (`node`) or among all ranks (`all`). With `others`, the
  // order goes node by node and begins with the node after this one.
  void peers(const ForPeersSpec& peers, const config::Node& node, std::uint32_t depth) {
    const std::string turn = fmt::format("_turn_{}", turns_++);  // internal: begins with _
    const auto text = [&](std::string formula) { return FormulaText{std::move(formula), node.place}; };
    const bool in_node = peers.of == Peers::node, others = peers.of == Peers::others;
    auto from = formula(text(others ? "0" : "1"), "from");
    auto below = formula(text(in_node ? "gpus" : others ? "ranks - gpus" : "ranks"), "below");
    auto step = formula(text("1"), "step");
    const std::string peer =
        in_node  ? fmt::format("node * gpus + mod(gpu + {}, gpus)", turn)
        : others ? fmt::format("mod(node + 1 + div({0}, gpus), nodes) * gpus + mod(gpu + {0}, gpus)", turn)
                 : fmt::format("mod(rank + {}, ranks)", turn);
    scope([&] {
      around(turn, std::move(from), std::move(below), std::move(step), node, [&] {
        let({{peers.each, text(peer)}}, node);
        steps(peers.steps, *node.find("do"), depth + 1);
      });
    });
  }

  void take(const TakeSpec& take, const config::Node& node, std::uint32_t depth) {
    if (depth > 0 || take_) {
      diagnostics_.error(node.place, take_ ? "the kernel has a second 'take'" : "'take' is inside of other steps",
                         "write one 'take' per kernel, directly in its list of steps");
      return;
    }
    script_->items =
        static_cast<std::int64_t>(constant(take.below, "below", constants_, 0, 1e9, diagnostics_).value_or(0));
    timed(Phase::Kind::take, node.place);
    take_ = Take{&take, &node};
  }

  void branch(const IfSpec& branch, const config::Node& node, std::uint32_t depth) {
    const std::uint32_t skip = here();
    auto when = formula(branch.when, "when");
    add(Op::unless, node.place).first = std::move(when);
    steps(branch.steps, *node.find("do"), depth + 1);
    const config::Node* other = node.find("else");
    const std::uint32_t out = here();
    if (other != nullptr) add(Op::jump, node.place);
    script_->instructions[skip].to = here();
    if (other == nullptr) return;
    steps(branch.otherwise, *other, depth + 1);
    script_->instructions[out].to = here();
  }

  const OwnKernelSpec& spec_;
  const builder::Builder& build_;
  const Names& constants_;
  const std::vector<NamedFlags>& flags_;
  config::Diagnostics& diagnostics_;
  std::shared_ptr<Script> script_ = std::make_shared<Script>();
  std::vector<program::PhaseShape> shapes_;
  std::optional<Take> take_;
  bool in_item_ = false;
  std::uint32_t hidden_ = 0;
  std::uint32_t turns_ = 0;
};

}  // namespace

std::optional<Compiled> compile(const OwnKernelSpec& spec, const builder::Builder& build, const Names& constants,
                                std::int64_t workgroups, const std::vector<NamedFlags>& flags, const config::Node& node,
                                config::Diagnostics& diagnostics) {
  return Compiler(spec, build, constants, flags, diagnostics).run(workgroups, node);
}

}  // namespace moire::own
