// Where chunks of a plan lie. Every chunk is cut into slices, the smallest parts that thread blocks share or rounds of
// a pipeline move.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

struct Cut {
  std::uint32_t slices = 1;         // of a chunk; with pipelines a slice is a round's unit
  std::uint32_t scratch_slots = 1;  // slices of scratch that a chunk has; fewer than slices: used again and again
};

// The cuts at which a plan may behave differently. Empty where it cannot be cut as it shares its operations.
std::vector<Cut> cuts_of(const Plan& plan);

// Of scratch that is used again and again.
std::uint64_t scratch_chunk_bytes(const Plan& plan);
// Bytes of a message whose chunks are so many rounds of a pipeline: larger ones have more.
std::uint64_t more_than_bytes(const Plan& plan, std::uint32_t slices);

class Layout {
 public:
  Layout(const Plan& plan, Cut cut);

  const Cut& cut() const { return cut_; }
  std::size_t cells() const { return cells_; }

  // Slices of an operand: `count` from `first`, of GPU `gpu`. In a pipeline those of a round.
  std::vector<std::size_t> cells(const Operand& operand, std::size_t gpu, std::uint32_t part, std::uint32_t parts,
                                 std::optional<std::uint32_t> round) const;

  // Cells of the buffers that the user gave: those of `gpu` are [first, last).
  std::pair<std::size_t, std::size_t> user_cells(std::size_t gpu) const;
  bool is_scratch(std::size_t cell) const;
  std::size_t slice_of(std::size_t user_cell) const { return user_cell % per_gpu_ % cut_.slices; }
  std::size_t gpu_of(std::size_t cell) const { return cell / per_gpu_; }

  std::size_t input_cell(std::size_t gpu, std::uint32_t chunk, std::uint32_t slice) const;
  std::size_t output_cell(std::size_t gpu, std::uint32_t chunk, std::uint32_t slice) const;
  std::uint32_t input_chunks() const { return input_chunks_; }
  std::uint32_t output_chunks() const { return output_chunks_; }

  // "input chunk 3", "scratch chunk 0": what a cell is for people.
  std::string name(std::size_t cell) const;

 private:
  std::size_t base(Buffer buffer, std::size_t gpu) const;  // first cell of a buffer

  const Plan& plan_;
  Cut cut_;
  std::uint32_t input_chunks_ = 0;  // as the collective means them
  std::uint32_t output_chunks_ = 0;
  std::size_t user_chunks_ = 0;  // of a GPU, both buffers
  std::size_t scratch_chunks_ = 0;
  std::size_t per_gpu_ = 0;
  std::size_t cells_ = 0;
};

}  // namespace moire::mscclpp
