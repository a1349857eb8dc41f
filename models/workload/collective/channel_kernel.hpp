// Runs a channel program as a kernel: a channel is a workgroup, a chunk goes through a FIFO slice by slice, a full FIFO
// holds its sender up until the receiver returns credits.
#pragma once

#include <memory>
#include <string>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/workload/builder/builder.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "models/workload/libraries/plan_library.hpp"

namespace moire::collective {

using ir::ChannelProgram;
using ir::Op;
using ir::Rank;
using ir::Step;

// With a protocol of library.channels.
void append_channel_kernel(builder::Builder& build, std::shared_ptr<const ChannelProgram> steps,
                           const libraries::LibrarySpec& library, const libraries::ProtocolSpec& protocol,
                           double element_bytes, const std::string& name);

// Of one-sided steps, by the executor of a library with so many threads a channel.
void append_plan_kernel(builder::Builder& build, std::shared_ptr<const ChannelProgram> steps,
                        const libraries::PlanLibrarySpec& library, std::int64_t threads, double element_bytes,
                        const std::string& name);
program::WorkgroupResources resources_of(const libraries::PlanLibrarySpec& library, const machine::GpuSpec& gpu,
                                         std::int64_t threads);

// What a workgroup of a library takes of a CU, in a grid of so many.
program::WorkgroupResources resources_of(const libraries::LibrarySpec& library, const machine::GpuSpec& gpu,
                                         std::int64_t threads, std::int64_t workgroups);

}  // namespace moire::collective
