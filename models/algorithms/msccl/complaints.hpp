// Returns positions and names of an algorithm's elements, for messages.
#pragma once

#include <cstdint>
#include <string>

#include "models/algorithms/msccl/algorithm.hpp"
#include "sim/formats/complaints.hpp"

namespace moire::msccl {

using formats::Complaints;
using Spot = formats::Position;

// Returns the position (line and column in the file) of a step, a thread block, a GPU or the algorithm.
template <class Element>
Spot spot(const Element& element) {
  return {element.line, element.col};
}

std::string name_of(std::int64_t gpu);
std::string name_of(std::int64_t gpu, std::int64_t block);
std::string name_of(std::int64_t gpu, std::int64_t block, std::int64_t step);  // such as "gpu 0, tb 1, step 2"

}  // namespace moire::msccl
