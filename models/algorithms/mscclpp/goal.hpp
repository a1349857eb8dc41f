// What a collective starts with and asks for, cell by cell.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

class Goal {
 public:
  Goal(const Plan& plan, const Layout& layout) : plan_(plan), layout_(layout) {}

  bool has_input(std::size_t gpu) const;
  // Chunks of the output that the collective speaks of; none where it states no result.
  std::uint32_t outputs(std::size_t gpu) const;
  // Input cells whose sum must be there, in order.
  std::vector<std::uint32_t> expected(std::size_t gpu, std::uint32_t chunk, std::uint32_t slice) const;

 private:
  const Plan& plan_;
  const Layout& layout_;
};

// Whether chunks are as many as the collective needs; else why not.
std::string misfit(const Plan& plan);

}  // namespace moire::mscclpp
