// Why an output is wrong: the way of every value is followed again, with the steps that made it.
#pragma once

#include "models/algorithms/msccl/result.hpp"

namespace moire::msccl {

// Fills in what is wrong with output `wrong.chunk` of `wrong.gpu`. `lies_in` is an output of the same GPU that holds
// what it should, or nobody.
void explain(const Wiring& wiring, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
             std::uint32_t chunks_per_call, Wrong& wrong);

}  // namespace moire::msccl
