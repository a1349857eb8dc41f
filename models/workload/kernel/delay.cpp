#include "models/workload/kernel/delay.hpp"

#include "sim/config/spec.hpp"

namespace moire::kernel {

void DelaySpec::describe(config::Describer<DelaySpec>& d) {
  d.component("delay", "Time in which a queue of every rank does nothing, such as a host that enqueues late.");
  d.field("time", &DelaySpec::time, "How long").positive();
}

void append_delay(builder::Builder& build, const DelaySpec& spec) {
  build.queue.operations.emplace_back(program::Delay{build.unique("delay"), spec.time});
}

}  // namespace moire::kernel
