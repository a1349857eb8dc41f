// The operator mscclpp simulates an execution plan of MSCCL++ as the executor of MSCCL++ runs the plan, thread block by
// thread block.
#pragma once

#include <filesystem>

#include "models/workload/builder/builder.hpp"
#include "models/workload/libraries/plan_library.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::collective {

struct MscclppSpec {
  std::filesystem::path plan;
  Bytes bytes;  // a rank's input; for an all-gather, its output
  builder::DataType dtype = builder::DataType::fp32;
  libraries::PlanLibrarySpec library;
  static void describe(config::Describer<MscclppSpec>& d);
};

// Reads the plan, proves it correct and appends its kernel. Returns false after reporting what is wrong with the plan
// or the machine.
bool append_mscclpp(builder::Builder& build, const MscclppSpec& spec, const config::Node& node,
                    config::Diagnostics& diagnostics);

}  // namespace moire::collective
