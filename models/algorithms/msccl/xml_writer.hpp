// Writes MSCCL XML that the public runtime reads.
#pragma once

#include <iosfwd>
#include <string>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::msccl {

// Write an algorithm as XML to a stream or a text. Equal algorithms give equal bytes; line numbers and the name of the
// file are not written.
void write_xml(const Algorithm& algorithm, std::ostream& out);
std::string to_xml(const Algorithm& algorithm);

}  // namespace moire::msccl
