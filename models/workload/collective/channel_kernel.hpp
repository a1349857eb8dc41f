// Runs a channel program as a kernel. Each channel is a workgroup. A chunk passes through a FIFO slice by slice. A
// sender waits at a full FIFO until the receiver returns credits.
#pragma once

#include <memory>
#include <string>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/workload/builder/builder.hpp"
#include "models/workload/codec/kernels.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "models/workload/libraries/plan_library.hpp"

namespace moire::collective {

using ir::ChannelProgram;
using ir::Op;
using ir::Rank;
using ir::Step;

// The demands, fixed times and resources of a codec inside the kernel of a collective, for steps that encode and
// decode.
struct Coding {
  codec::Inside encode;
  codec::Inside decode;
  // Returns the threads, registers and LDS of a workgroup of the kernel with the codec's code.
  const program::WorkgroupResources& resources() const { return decode.resources; }
};
Coding coding_of(const codec::CodecSpec& codec, const machine::GpuSpec& gpu, const program::WorkgroupResources& kernel);

// Appends a kernel whose steps move data through FIFOs. `protocol` is one of library.channels. `coding` may be null if
// no step encodes or decodes.
void append_channel_kernel(builder::Builder& build, std::shared_ptr<const ChannelProgram> steps,
                           const libraries::LibrarySpec& library, const libraries::ProtocolSpec& protocol,
                           double element_bytes, const std::string& name, const Coding* coding = nullptr);

// Appends a kernel of one-sided steps (direct loads and stores, without FIFOs) as the library's executor runs them,
// with `threads` threads per channel.
void append_plan_kernel(builder::Builder& build, std::shared_ptr<const ChannelProgram> steps,
                        const libraries::PlanLibrarySpec& library, std::int64_t threads, double element_bytes,
                        const std::string& name);
program::WorkgroupResources resources_of(const libraries::PlanLibrarySpec& library, const machine::GpuSpec& gpu,
                                         std::int64_t threads);

// Returns the resources that one workgroup takes on its CU, in a grid of `workgroups` workgroups. Workgroups form
// clusters only if the grid is a multiple of the cluster's size.
program::WorkgroupResources resources_of(const libraries::LibrarySpec& library, const machine::GpuSpec& gpu,
                                         std::int64_t threads, std::int64_t workgroups);

}  // namespace moire::collective
