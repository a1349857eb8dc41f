// The rules that several operations of a plan keep together: what one of them does, others must match.
#pragma once

#include "models/algorithms/mscclpp/complaints.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

// Checks that scratch holds either packets or data, that blocks meet at barriers, that semaphores keep their values,
// and that there is one wait for every signal, in this order. Operands and semaphores must be those that the plan has.
void check_matching(const Plan& plan, Complaints& complaints);

}  // namespace moire::mscclpp
