// What a collective gives a program and asks of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/mscclang/program.hpp"

namespace moire::mscclang {

// Input and output of a call in place.
enum class Aliasing : std::uint8_t { none, same, input_in_output, output_in_input };
Aliasing aliasing(const Options& options);

// Chunks belong to ranks by their index.
bool places_matter(ir::Collective collective);

InitialBuffers initial_buffers(const Options& options, std::int32_t rank);

// Where the result must hold, on canonical places; of a collective without a stated result: everywhere.
std::vector<Range> results(const Options& options, std::int32_t rank, std::size_t input_chunks,
                           std::size_t output_chunks);

// Contributions (rank, index) that chunk `index` of a rank's output must be the sum of; nothing: anything will do.
std::optional<std::vector<std::pair<std::int32_t, std::int32_t>>> wanted(const Options& options, std::int32_t rank,
                                                                         std::int32_t index);

// The first chunk of a result that is not what was asked for.
std::optional<std::string> unmet(const Program& program);

}  // namespace moire::mscclang
