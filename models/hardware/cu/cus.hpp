// The CUs of all GPUs as a part of the machine. The part has places (slots) for workgroups, and runs the phases of
// workgroups.
#pragma once

#include <optional>
#include <string>

#include "models/hardware/cu/phase_runner.hpp"
#include "models/hardware/part/services.hpp"
#include "sim/config/problem.hpp"

namespace moire::cu {

const part::Declaration& declaration();
// Returns the parameters of the memory that the CUs limit. `memory`: bandwidth of the GPU's memory. `latency`: latency
// of the memory without load.
std::vector<part::Limit> limits(const CuArraySpec& compute, BytesPerSecond memory, Time latency);
bool shares(const part::BlameKind& kind, const CuArraySpec& compute, const program::Program& program);

// Returns an error message about the first kernel that cannot run on this GPU, because a workgroup needs more than a
// whole CU or a cluster is too large. Returns nothing if all kernels can run. `gpu`: name of the GPU for the message.
std::optional<config::Problem> does_not_fit(const program::Program& program, const CuArraySpec& compute,
                                            const std::string& gpu);

class Cus final : public part::Part, public part::Dispatchers, public part::Shared, public PhaseRunner {
 public:
  Cus(part::Site& site, const CuArraySpec& compute, const Operation& operation)
      : PhaseRunner(site, compute, operation), compute_(compute) {}

  std::unique_ptr<part::Dispatcher> make_dispatcher() const override;
  Footprint footprint(const program::WorkgroupResources& resources) const override;
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;

 private:
  CuArraySpec compute_;
};

}  // namespace moire::cu
