// Computes how many workgroups of a kernel fit on a CU.
#pragma once

#include "models/hardware/cu/spec.hpp"
#include "models/hardware/part/services.hpp"
#include "sim/program/program.hpp"

namespace moire::cu {

using part::Footprint;

Footprint footprint(const CuArraySpec& spec, const program::WorkgroupResources& resources);

// Returns how many workgroups fit on one CU that is otherwise empty; 0 if not even one fits.
std::int64_t occupancy(const CuArraySpec& spec, const program::WorkgroupResources& resources);

// Returns the resource that limits occupancy(): "threads", "registers", "lds" or "workgroup slots".
const char* limiting_resource(const CuArraySpec& spec, const program::WorkgroupResources& resources);

}  // namespace moire::cu
