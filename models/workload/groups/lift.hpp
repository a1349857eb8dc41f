// Runs an operation on some of the ranks. The operator builds the operation for a system that is as large as a
// communicator. Then this code maps the ranks and flags of the operation to those of each communicator. So operators
// need not know about groups.
#pragma once

#include <functional>

#include "models/workload/builder/builder.hpp"
#include "models/workload/groups/groups.hpp"

namespace moire::groups {

// Calls `append` with a builder for a system of the layout's size. The operations that `append` makes then run in all
// communicators of the layout, in the queue of `build`. Returns what `append` returns.
bool append_to(const Layout& layout, builder::Builder& build, const std::function<bool(builder::Builder&)>& append);

}  // namespace moire::groups
