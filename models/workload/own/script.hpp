// The compiled steps of a custom kernel: instructions with jumps, which are interpreted for every workgroup and every
// item. An item is one value of a `take` step, which a free workgroup takes from a counter of the GPU.
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
    let,     // slots[slot] = first
    enter,   // starts a loop: slots[slot..slot + 2] = first value, bound, step; jumps to `to` if there are no values
    next,    // adds the step of the loop to its value; jumps to `to` if the value is below the bound
    unless,  // jumps to `to` if first is 0
    jump,    // jumps to `to`
    phase,   // a phase, in which time passes; a phase of kind `nothing` ends the script
  };
  Op op = Op::phase;
  std::uint32_t slot = 0;
  std::uint32_t to = 0;
  std::optional<Formula> first;   // value, first value of a loop, condition; of a phase: amount, bytes, count or times
  std::optional<Formula> second;  // bound of a loop; peer of a phase
  std::optional<Formula> third;   // step of a loop; index of a phase's flag
  std::optional<Formula> queue_pair, gate_index, gate_of;
  Phase phase;                  // the phase without the values of formulas
  std::uint16_t own_shape = 0;  // shape used if the peer is the rank itself
  bool by_copy = false;         // a put by a DMA engine
  program::FlagBlock flag;
  program::FlagBlock gate;
  config::Place place;
};

// Position of a workgroup or an item in the script.
struct Cursor {
  std::uint32_t at = 0;    // next instruction
  std::uint32_t step = 0;  // phases returned so far
  boost::container::small_vector<double, 6> slots;
};

// An invalid value of a formula, with its place in the file.
struct ValueError {
  config::Place place;
  config::Problem problem;
};

struct Script {
  std::vector<Instruction> instructions;  // those of a workgroup, then those of an item of `take`
  std::uint32_t items_begin = 0;          // first instruction of an item
  std::uint32_t item_slot = 0;
  std::int64_t items = 0;
  Names names;                 // names that formulas may use
  std::vector<double*> slots;  // variables of a workgroup, whose values its cursor keeps
  struct SlotName {
    std::string name;         // empty: a variable of the compiler, which messages do not show
    std::uint32_t begin = 0;  // range of instructions in which the name is visible
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
  // Computes the next phase of a workgroup or an item. Returns false at the end of the script. Throws ValueError if the
  // value of a formula is invalid.
  bool next(Rank of, std::int64_t workgroup, Cursor& cursor, Phase& phase) const;
  // Returns the values for which the formulas of the instruction were evaluated last, such as "rank 3, workgroup 7,
  // tile 2".
  std::string situation(std::uint32_t instruction) const;

 private:
  void fill(const Instruction& instruction, Rank of, Phase& phase) const;
};

// Interprets the script for all workgroups and items of all ranks, without time. Reports the first invalid value or, if
// all values are valid, a wait whose flag is not raised often enough. `raised` receives, for each flag, the last rank
// that raises the flag. Deadlock reports name this rank.
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
  // Callers normally request the steps of a workgroup in order, so its last cursor is kept. Only speed depends on it.
  mutable std::unordered_map<std::uint64_t, Cursor> cursors_;
};

}  // namespace moire::own
