// What a collective puts into a program's buffers at the start, and what it requires at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/mscclang/program.hpp"

namespace moire::mscclang {

// How input and output overlap in an in-place call. aliasing() returns `none` for calls that are not in place.
enum class Aliasing : std::uint8_t { none, same, input_in_output, output_in_input };
Aliasing aliasing(const Options& options);

// True if the index of a chunk determines which rank it belongs to: all-gather, reduce-scatter and all-to-all.
bool places_matter(ir::Collective collective);

InitialBuffers initial_buffers(const Options& options, std::int32_t rank);

// Returns the chunks that must hold the result, at the places that Program::canonical() returns. If the collective
// defines no result, these are all chunks of input and output.
std::vector<Range> results(const Options& options, std::int32_t rank, std::size_t input_chunks,
                           std::size_t output_chunks);

// Returns the contributions (rank, index) whose sum chunk `index` of a rank's output must hold; empty if any value is
// right.
std::optional<std::vector<std::pair<std::int32_t, std::int32_t>>> wanted(const Options& options, std::int32_t rank,
                                                                         std::int32_t index);

// Returns a message about the first output chunk that has a wrong value; empty if there is none.
std::optional<std::string> unmet(const Program& program);

}  // namespace moire::mscclang
