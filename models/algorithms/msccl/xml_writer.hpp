// MSCCL XML, as the public runtime reads it.
#pragma once

#include <iosfwd>
#include <string>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::msccl {

// The same bytes for the same algorithm; `line`s and the file's name are left out.
void write_xml(const Algorithm& algorithm, std::ostream& out);
std::string to_xml(const Algorithm& algorithm);

}  // namespace moire::msccl
