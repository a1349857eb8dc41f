// Where the chunks of a plan lie in memory. Every chunk is cut into slices. A slice is the smallest part that one
// thread block takes of an operation which several blocks share, or the part that one round of a pipeline moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/mscclpp/plan.hpp"
#include "models/algorithms/proof/goal.hpp"

namespace moire::mscclpp {

struct Cut {
  std::uint32_t slices = 1;         // per chunk; with pipelines, a slice is what one round moves
  std::uint32_t scratch_slots = 1;  // slices of scratch per chunk; if fewer than `slices`, they are reused
};

// Returns why the numbers of chunks do not suit the collective; empty if they suit it.
std::string misfit(const Plan& plan);

// Returns the ways to cut chunks into slices with which a plan may behave differently. Empty if chunks would need too
// many slices, because thread blocks share operations in too many different parts.
std::vector<Cut> cuts_of(const Plan& plan);

// Returns the bytes of scratch for each chunk if scratch is reused (Plan::reuse_scratch).
std::uint64_t scratch_chunk_bytes(const Plan& plan);
// Returns the message size at which a chunk takes exactly `slices` rounds of a pipeline. With larger messages, a chunk
// takes more rounds.
std::uint64_t more_than_bytes(const Plan& plan, std::uint32_t slices);

// The layout and goal of models/algorithms/proof for a plan. Their cells are slices.
class Layout {
 public:
  Layout(const Plan& plan, Cut cut);
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  const Cut& cut() const { return cut_; }
  std::size_t cells() const { return memory_.cells(); }

  // Returns the cells of an operand's slices on GPU `gpu`. Outside of pipelines, these are the slices of part `part` of
  // `parts`; inside of a pipeline, those of round `round`.
  std::vector<std::size_t> cells(const Operand& operand, std::size_t gpu, std::uint32_t part, std::uint32_t parts,
                                 std::optional<std::uint32_t> round) const;

  // Returns the cells of the input and output buffers of GPU `gpu`, as [first, last).
  std::pair<std::size_t, std::size_t> user_cells(std::size_t gpu) const;
  bool is_scratch(std::size_t cell) const { return cell >= user_cells(gpu_of(cell)).second; }
  std::size_t slice_of(std::size_t user_cell) const {
    return (user_cell - user_cells(gpu_of(user_cell)).first) % cut_.slices;
  }
  std::size_t gpu_of(std::size_t cell) const {
    return static_cast<std::size_t>(memory_.rank_of(static_cast<std::uint32_t>(cell)));
  }

  // Returns the input cells that hold data at the start.
  std::vector<std::size_t> inputs(std::size_t gpu) const;
  // Return the number of output slices that the collective defines, the cell of an output slice, and the input cells
  // whose sum this slice must hold.
  std::size_t outputs(std::size_t gpu) const { return static_cast<std::size_t>(goal_.outputs(index(gpu))); }
  std::size_t output_cell(std::size_t gpu, std::size_t slice) const {
    return memory_.cell(index(gpu), Buffer::output, index(slice));
  }
  std::vector<std::uint32_t> expected(std::size_t gpu, std::size_t slice) const;

  // Returns the name of a cell in messages, such as "gpu 1 input chunk 3" or "gpu 0 scratch chunk 0".
  std::string name(std::size_t cell) const;

 private:
  static std::int64_t index(std::size_t number) { return static_cast<std::int64_t>(number); }

  const Plan& plan_;
  Cut cut_;
  std::uint32_t input_chunks_ = 0;  // of a GPU, as the collective counts them
  proof::Layout memory_;
  proof::Goal goal_;
};

}  // namespace moire::mscclpp
