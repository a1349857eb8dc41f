// The class that collects the error messages of one plan.
#pragma once

#include "sim/formats/complaints.hpp"

namespace moire::mscclpp {

using formats::Complaints;

}  // namespace moire::mscclpp
