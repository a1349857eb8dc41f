// Time in which a queue does nothing: what holds back the operations behind it.
#pragma once

#include "models/workload/builder/builder.hpp"

namespace moire::kernel {

struct DelaySpec {
  Time time;
  static void describe(config::Describer<DelaySpec>& d);
};

void append_delay(builder::Builder& build, const DelaySpec& spec);

}  // namespace moire::kernel
