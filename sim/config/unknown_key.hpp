// The error about a key that a spec does not have.
#pragma once

#include "sim/config/description.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::config {

// Reports that the spec of `description` does not have the key of `entry`. `more` lists keys that the map may have in
// addition, because another reader reads them.
void report_unknown(const Node::Entry& entry, const Description& description, Diagnostics& diagnostics,
                    const std::vector<std::string>& more = {});

}  // namespace moire::config
