// The steps of a kernel, compiled: instructions with jumps, walked through by one workgroup after the other.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/hardware/part/reach.hpp"
#include "models/workload/formula/formula.hpp"
#include "sim/program/program.hpp"

namespace moire::own {

using formula::Formula;
using formula::FormulaText;
using formula::Names;

using program::Phase;
using program::Rank;

struct Instruction {
  enum class Op : std::uint8_t {
    let,     // slot = first
    enter,   // slot = first, and its bound and step; to `to` where nothing is left
    next,    // slot += step; to `to` where something is left
    unless,  // to `to` where first is 0
    jump,    // to `to`
    phase,   // time passes
  };
  Op op = Op::phase;
  std::uint32_t slot = 0;
  std::uint32_t to = 0;
  std::optional<Formula> first;   // of a phase: amount, bytes, count, times
  std::optional<Formula> second;  // of a loop: its bound; of a phase: the peer
  std::optional<Formula> third;   // of a loop: its step; of a phase: index of its flag
  std::optional<Formula> queue_pair, gate_index, gate_of;
  Phase phase;                  // what does not depend on formulas
  std::uint16_t own_shape = 0;  // where the peer is the rank itself
  bool by_copy = false;         // a put by a DMA engine
  program::FlagBlock flag;
  program::FlagBlock gate;
  config::Place place;
};

// Where a workgroup is.
struct Cursor {
  std::uint32_t at = 0;    // instruction
  std::uint32_t step = 0;  // phases it has had
  boost::container::small_vector<double, 6> slots;
};

// What is wrong with a value that a formula has got, and where.
struct ValueError {
  config::Place place;
  config::Problem problem;
};

struct Script {
  std::vector<Instruction> instructions;  // of a workgroup, then of an item that is taken
  std::uint32_t items_begin = 0;          // first instruction of an item
  std::uint32_t item_slot = 0;
  std::int64_t items = 0;
  Names names;                 // that formulas know
  std::vector<double*> slots;  // values that a cursor keeps
  struct SlotName {
    std::string name;         // empty: not one of the user's
    std::uint32_t begin = 0;  // the instructions that know it
    std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
  };
  std::vector<SlotName> slot_names;
  double* rank = nullptr;
  double* node = nullptr;
  double* gpu = nullptr;
  double* workgroup = nullptr;
  part::Reach reach;
  bool has_nics = false;
  Rank ranks = 0;
  std::int64_t workgroups = 0;

  Cursor begin() const;
  Cursor begin_item(std::int64_t item) const;
  // The next phase of a workgroup (or an item); false where it is over. Throws ValueError.
  bool next(Rank of, std::int64_t workgroup, Cursor& cursor, Phase& phase) const;
  // "rank 3, workgroup 7, tile 2": what the formulas of the instruction were evaluated for.
  std::string situation(std::uint32_t instruction) const;

 private:
  void fill(const Instruction& instruction, Rank of, Phase& phase) const;
};

// Walks through all of it once and reports the first value that is wrong, and waits that nobody ends. What is not
// reported runs. `raised` gets who raises each flag last, for deadlock reports.
void check(const Script& script, const program::Program& program, std::vector<Rank>& raised,
           config::Diagnostics& diagnostics);

class ScriptBody final : public program::KernelBody {
 public:
  explicit ScriptBody(std::shared_ptr<const Script> script) : script_(std::move(script)) {}
  std::int64_t workgroups(Rank) const override { return script_->workgroups; }
  std::int64_t items(Rank) const override { return script_->items; }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override;
  bool item_phase(Rank rank, std::int64_t item, std::uint32_t step, Phase& phase) const override;

 private:
  bool walk(std::uint64_t key, Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const;

  std::shared_ptr<const Script> script_;
  // Steps are asked for in order; where a workgroup was makes the next one cheap. Answers do not depend on it.
  mutable std::unordered_map<std::uint64_t, Cursor> cursors_;
};

}  // namespace moire::own
