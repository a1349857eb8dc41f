// How many workgroups of a kernel fit on a CU.
#pragma once

#include "models/hardware/cu/spec.hpp"
#include "models/hardware/part/services.hpp"
#include "sim/program/program.hpp"

namespace moire::cu {

using part::Footprint;

Footprint footprint(const CuArraySpec& spec, const program::WorkgroupResources& resources);

// Resident workgroups per CU of an otherwise empty GPU; 0 if not even one fits.
std::int64_t occupancy(const CuArraySpec& spec, const program::WorkgroupResources& resources);

// The resource that limits occupancy: "threads", "registers", "lds" or "workgroup slots".
const char* limiting_resource(const CuArraySpec& spec, const program::WorkgroupResources& resources);

}  // namespace moire::cu
