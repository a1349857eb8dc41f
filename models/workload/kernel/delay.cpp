// The operator `delay`: a queue does nothing for some time, which delays its later operations.
#include "models/workload/kernel/operators.hpp"

namespace moire::kernel {

namespace {

struct DelaySpec {
  Time time;
  static void describe(config::Describer<DelaySpec>& d);
};

void DelaySpec::describe(config::Describer<DelaySpec>& d) {
  d.component("delay", "Time in which a queue of every rank does nothing, for example because the host enqueues late.");
  d.field("time", &DelaySpec::time, "Length of the delay").positive();
}

void append_delay(builder::Builder& build, const DelaySpec& spec) {
  build.queue.operations.emplace_back(program::Delay{build.unique("delay"), spec.time});
}

}  // namespace

builder::Operator delay_operator() { return builder::make_operator<DelaySpec>("delay", append_delay); }

}  // namespace moire::kernel
