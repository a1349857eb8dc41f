// Runs an operation on some of the ranks. The operation is built for a system that is as large as a communicator, and
// then mapped to the ranks and flags of each communicator. So operators need not know about groups.
#pragma once

#include <functional>

#include "models/workload/builder/builder.hpp"
#include "models/workload/groups/groups.hpp"

namespace moire::groups {

// Calls `append` with a builder for a system of the layout's size and appends the operations that it makes to the queue
// of `build`, for all communicators of the layout. Returns what `append` returns.
bool append_to(const Layout& layout, builder::Builder& build, const std::function<bool(builder::Builder&)>& append);

}  // namespace moire::groups
