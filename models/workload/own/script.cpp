#include "models/workload/own/script.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/core/invariant.hpp"

namespace moire::own {

namespace {

constexpr std::uint32_t most_instructions_without_time = 10'000'000;
constexpr double most_bytes = 1e15;

[[noreturn]] void reject(const Formula& formula, std::string what, std::string remedy) {
  throw ValueError{formula.place(), {std::move(what), std::move(remedy)}};
}

double number(const Formula& formula, double low, double high, std::string_view unit) {
  const double value = formula.value();
  if (!(value >= low && value <= high)) {
    reject(formula, fmt::format("'{}' is {:.10g}{}", formula.key(), value, unit),
           fmt::format("it must be {:.10g} to {:.10g}{}", low, high, unit));
  }
  return value;
}

std::int64_t whole(const Formula& formula, double low, double high) {
  const double value = number(formula, low, high, "");
  if (value != std::floor(value))
    reject(formula, fmt::format("'{}' is {:.10g}", formula.key(), value),
           "write an integer: floor, ceil or div make one");
  return static_cast<std::int64_t>(value);
}

constexpr double most_values = 1e12;  // largest absolute value of a loop variable, a count or `times`

}  // namespace

Cursor Script::begin() const {
  Cursor cursor;
  cursor.slots.resize(slots.size());
  return cursor;
}

Cursor Script::begin_item(std::int64_t item) const {
  Cursor cursor = begin();
  cursor.at = items_begin;
  cursor.slots[item_slot] = static_cast<double>(item);
  return cursor;
}

bool Script::next(Rank of, std::int64_t number_of_workgroup, Cursor& cursor, Phase& phase) const {
  *rank = static_cast<double>(of);
  *node = static_cast<double>(reach.node_of(of));
  *gpu = static_cast<double>(reach.gpu_of(of));
  *workgroup = static_cast<double>(number_of_workgroup);
  for (std::size_t i = 0; i < slots.size(); ++i) *slots[i] = cursor.slots[i];
  for (std::uint32_t done = 0;; ++done) {
    const Instruction& instruction = instructions[cursor.at++];
    switch (instruction.op) {
      case Instruction::Op::let:
        *slots[instruction.slot] = instruction.first->value();
        break;
      case Instruction::Op::enter:
        *slots[instruction.slot] = static_cast<double>(whole(*instruction.first, -most_values, most_values));
        *slots[instruction.slot + 1] = number(*instruction.second, -most_values, most_values, "");
        *slots[instruction.slot + 2] = static_cast<double>(whole(*instruction.third, 1, most_values));
        if (*slots[instruction.slot] >= *slots[instruction.slot + 1]) cursor.at = instruction.to;
        break;
      case Instruction::Op::next:
        *slots[instruction.slot] += *slots[instruction.slot + 2];
        if (*slots[instruction.slot] < *slots[instruction.slot + 1]) cursor.at = instruction.to;
        break;
      case Instruction::Op::unless:
        if (instruction.first->value() == 0) cursor.at = instruction.to;
        break;
      case Instruction::Op::jump:
        cursor.at = instruction.to;
        break;
      case Instruction::Op::phase:
        if (instruction.phase.kind == Phase::Kind::nothing) return false;  // end of the script
        fill(instruction, of, phase);
        ++cursor.step;
        for (std::size_t i = 0; i < slots.size(); ++i) cursor.slots[i] = *slots[i];
        return true;
    }
    if (done == most_instructions_without_time) {
      throw ValueError{instruction.place,
                       {fmt::format("{} rounds pass in which no step takes time", done),
                        "use fewer values in the surrounding loops"}};
    }
  }
}

// Completes the phase of an instruction with the values of its formulas. Throws ValueError at an invalid value. check()
// calls this function for all workgroups before the simulation, so invalid values are found there.
void Script::fill(const Instruction& instruction, Rank of, Phase& phase) const {
  phase = instruction.phase;
  if (instruction.second) {
    phase.peer = static_cast<Rank>(whole(*instruction.second, 0, static_cast<double>(ranks) - 1));
    const bool near = reach.stores(of, phase.peer);
    const auto far = [&](const char* what, const char* remedy) {
      reject(*instruction.second,
             fmt::format("'{}' is rank {}: {} rank {}", instruction.second->key(), phase.peer, what, of), remedy);
    };
    if (phase.kind == Phase::Kind::put && phase.peer == of)
      far("a message cannot go to the sender itself,", "name another rank");
    if (phase.kind == Phase::Kind::put && !instruction.by_copy && !has_nics)
      far("a put goes through a NIC, but there is none in the node of",
          "set system.node.nics, or use store and signal");
    if (phase.kind == Phase::Kind::put && instruction.by_copy && !near)
      far("DMA engines cannot reach it from", "name a rank of the same node, or use a put");
    if (phase.kind != Phase::Kind::put && !near)
      far("loads, stores and signals cannot reach it from", "name a rank of the same node, or use a put");
    if (phase.kind == Phase::Kind::work && phase.peer == of) phase.shape = instruction.own_shape;
  }
  switch (phase.kind) {
    case Phase::Kind::work:
      phase.amount = number(*instruction.first, 0, most_bytes, "");
      break;
    case Phase::Kind::delay: {
      const double times = number(*instruction.first, 0, most_values, "");
      phase.duration = Time::from_ps(std::round(static_cast<double>(phase.duration.ps) * times));
      break;
    }
    case Phase::Kind::put:
      phase.bytes = Bytes{number(*instruction.first, 1, most_bytes, " B")};
      break;
    case Phase::Kind::wait:
      phase.target = whole(*instruction.first, 0, most_values);
      break;
    default:
      break;
  }
  const auto flag_of = [&](const Formula& index, const program::FlagBlock& block, Rank at) {
    return block.at(at, static_cast<std::uint32_t>(whole(index, 0, static_cast<double>(block.per_rank) - 1)));
  };
  if (instruction.third)
    phase.flag = flag_of(*instruction.third, instruction.flag, phase.kind == Phase::Kind::wait ? of : phase.peer);
  if (instruction.queue_pair) phase.queue_pair = static_cast<std::uint32_t>(whole(*instruction.queue_pair, 0, 1 << 20));
  if (instruction.gate_of) {
    phase.gate = flag_of(*instruction.gate_index, instruction.gate, of);
    phase.gate_target = whole(*instruction.gate_of, 1, most_values);
  }
}

std::string Script::situation(std::uint32_t instruction) const {
  std::string text = fmt::format("rank {:.0f}, workgroup {:.0f}", *rank, *workgroup);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& [name, begin, end] = slot_names[i];
    if (!name.empty() && begin <= instruction && instruction < end)
      text += fmt::format(", {} {:.10g}", name, *slots[i]);
  }
  return text;
}

bool ScriptBody::phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const {
  return walk(std::uint64_t{rank} << 40 | static_cast<std::uint64_t>(workgroup), rank, workgroup, step, phase);
}

bool ScriptBody::item_phase(Rank rank, std::int64_t item, std::uint32_t step, Phase& phase) const {
  const std::uint64_t key = std::uint64_t{1} << 63 | std::uint64_t{rank} << 40 | static_cast<std::uint64_t>(item);
  return walk(key, rank, 0, step, phase);
}

bool ScriptBody::walk(std::uint64_t key, Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const {
  const bool is_item = key >> 63 != 0;
  const auto fresh = [&] {
    return is_item ? script_->begin_item(static_cast<std::int64_t>(key & ((std::uint64_t{1} << 40) - 1)))
                   : script_->begin();
  };
  const auto found = cursors_.find(key);
  Cursor cursor = found != cursors_.end() && found->second.step <= step ? found->second : fresh();
  bool more = true;
  try {
    while (more && cursor.step <= step) more = script_->next(rank, workgroup, cursor, phase = {});
  } catch (const ValueError& error) {
    MOIRE_INVARIANT(false, "a kernel that was checked has a wrong value: " + error.problem.what);
  }
  if (!more) {
    phase = {};
    if (found != cursors_.end()) cursors_.erase(found);
    return false;
  }
  if (found != cursors_.end()) {
    found->second = std::move(cursor);
  } else {
    cursors_.emplace(key, std::move(cursor));
  }
  return true;
}

}  // namespace moire::own
