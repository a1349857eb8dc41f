// A kernel replayed from a workgroup trace: every recorded task gathers, computes and stores to its peer again, on the
// machine it was recorded on or on another one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::kernel {

enum class TraceTiming {
  modelled,  // gather and stores take what the machine's models say
  recorded,  // gather and arithmetic take the recorded time; stores and flags are modelled
};

struct WgTraceSpec {
  std::filesystem::path file;
  TraceTiming timing = TraceTiming::modelled;
  Bytes row;                  // of one random access, for the memory's access granularity
  double cache_miss = 1;      // share of the gathered bytes that no cache holds
  std::optional<Time> fence;  // release of a workgroup's stores before its ready flag; absent: the port's
  static void describe(config::Describer<WgTraceSpec>& d);
};

// Reads the trace and appends its kernel; false after reporting what is wrong with the file or the machine.
bool append_wg_trace(builder::Builder& build, const WgTraceSpec& spec, const config::Node& node,
                     config::Diagnostics& diagnostics);

}  // namespace moire::kernel
