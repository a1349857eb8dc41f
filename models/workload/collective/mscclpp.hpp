// The operator mscclpp: an execution plan of MSCCL++, run thread block by thread block as its executor would.
#pragma once

#include <filesystem>

#include "models/workload/builder/builder.hpp"
#include "models/workload/libraries/plan_library.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::collective {

struct MscclppSpec {
  std::filesystem::path plan;
  Bytes bytes;  // of a rank's input, of an all-gather its output
  builder::DataType dtype = builder::DataType::fp32;
  libraries::PlanLibrarySpec library;
  static void describe(config::Describer<MscclppSpec>& d);
};

// Reads and proves the plan and appends its kernel; false after reporting what is wrong with it or the machine.
bool append_mscclpp(builder::Builder& build, const MscclppSpec& spec, const config::Node& node,
                    config::Diagnostics& diagnostics);

}  // namespace moire::collective
