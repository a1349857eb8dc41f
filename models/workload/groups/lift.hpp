// An operation of a part of the ranks: it is built for a system of the communicator's size, and each communicator runs
// it with its own ranks and flags. Operators know nothing of groups.
#pragma once

#include <functional>

#include "models/workload/builder/builder.hpp"
#include "models/workload/groups/groups.hpp"

namespace moire::groups {

// Calls `append` with a builder of the layout's size, and appends what it makes to the queue of `build`, for the
// communicators of the layout. What `append` returns.
bool append_to(const Layout& layout, builder::Builder& build, const std::function<bool(builder::Builder&)>& append);

}  // namespace moire::groups
