// Why an output is wrong: the way of every value is followed again, with the steps that made it.
#pragma once

#include "models/algorithms/proof/result.hpp"

namespace moire::proof {

// Fills in what is wrong with output `wrong.chunk` of `wrong.gpu`. `lies_in` is an output of the same GPU that holds
// what it should, or nobody.
void explain(const Program& program, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
             std::uint32_t cells_per_call, Wrong& wrong);

}  // namespace moire::proof
