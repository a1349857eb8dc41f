// Where chunks of a plan lie. Every chunk is cut into slices, the smallest parts that thread blocks share or rounds of
// a pipeline move.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/mscclpp/plan.hpp"
#include "models/algorithms/proof/goal.hpp"

namespace moire::mscclpp {

struct Cut {
  std::uint32_t slices = 1;         // of a chunk; with pipelines a slice is a round's unit
  std::uint32_t scratch_slots = 1;  // slices of scratch that a chunk has; fewer than slices: used again and again
};

// Whether chunks are as many as the collective needs; else why not.
std::string misfit(const Plan& plan);

// The cuts at which a plan may behave differently. Empty where it cannot be cut as it shares its operations.
std::vector<Cut> cuts_of(const Plan& plan);

// Of scratch that is used again and again.
std::uint64_t scratch_chunk_bytes(const Plan& plan);
// Bytes of a message whose chunks are so many rounds of a pipeline: larger ones have more.
std::uint64_t more_than_bytes(const Plan& plan, std::uint32_t slices);

// The layout and the goal of the proofs (models/algorithms/proof) with slices as cells.
class Layout {
 public:
  Layout(const Plan& plan, Cut cut);
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  const Cut& cut() const { return cut_; }
  std::size_t cells() const { return memory_.cells(); }

  // Slices of an operand: `count` from `first`, of GPU `gpu`. In a pipeline those of a round.
  std::vector<std::size_t> cells(const Operand& operand, std::size_t gpu, std::uint32_t part, std::uint32_t parts,
                                 std::optional<std::uint32_t> round) const;

  // Cells of the buffers that the user gave: those of `gpu` are [first, last).
  std::pair<std::size_t, std::size_t> user_cells(std::size_t gpu) const;
  bool is_scratch(std::size_t cell) const { return cell >= user_cells(gpu_of(cell)).second; }
  std::size_t slice_of(std::size_t user_cell) const {
    return (user_cell - user_cells(gpu_of(user_cell)).first) % cut_.slices;
  }
  std::size_t gpu_of(std::size_t cell) const {
    return static_cast<std::size_t>(memory_.rank_of(static_cast<std::uint32_t>(cell)));
  }

  // Cells of the input that hold something at the start.
  std::vector<std::size_t> inputs(std::size_t gpu) const;
  // Slices of the output that the collective speaks of, where each lies, and the input cells whose sum must be there.
  std::size_t outputs(std::size_t gpu) const { return static_cast<std::size_t>(goal_.outputs(index(gpu))); }
  std::size_t output_cell(std::size_t gpu, std::size_t slice) const {
    return memory_.cell(index(gpu), Buffer::output, index(slice));
  }
  std::vector<std::uint32_t> expected(std::size_t gpu, std::size_t slice) const;

  // "input chunk 3", "scratch chunk 0": what a cell is for people.
  std::string name(std::size_t cell) const;

 private:
  static std::int64_t index(std::size_t number) { return static_cast<std::int64_t>(number); }

  const Plan& plan_;
  Cut cut_;
  std::uint32_t input_chunks_ = 0;  // as the collective means them
  proof::Layout memory_;
  proof::Goal goal_;
};

}  // namespace moire::mscclpp
