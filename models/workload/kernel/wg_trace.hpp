// Replays a kernel from a workgroup trace (docs/reference/wg-trace.md): every recorded task gathers, computes and
// stores to its peer again, on the machine of the recording or on another machine.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/kernel/wg_trace_ranks.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::kernel {

enum class TraceTiming {
  modelled,  // the machine's models time gathers and stores
  recorded,  // gathers and arithmetic take the recorded time; stores and flags are modelled
};

enum class TraceUnit { vector, matrix };  // units that do the arithmetic
enum class TraceGaps { left_out, kept };  // time of a workgroup between two rows of the trace

struct WgTraceSpec {
  std::filesystem::path file;
  TraceTiming timing = TraceTiming::modelled;
  std::optional<Bytes> row;              // bytes of a row at a random address; memory fetches whole access grains
  TraceUnit unit = TraceUnit::vector;    // only in traces of version 1
  TraceGaps gaps = TraceGaps::left_out;  // only in traces of version 2
  bool pipelined = false;                // only in traces of version 2
  double math_efficiency = 1;
  RankRule ranks = RankRule::as_recorded;
  double cache_miss = 1;      // share of the gathered bytes that no cache holds
  std::optional<Time> fence;  // time to fence the stores before a ready flag; absent: port.fence of the GPU
  static void describe(config::Describer<WgTraceSpec>& d);
};

// The phase shapes of a trace's kernel. Demands that differ only in amount share a shape. The unit of work of a shape
// is one loaded byte, or one FLOP if the demand loads nothing.
class TraceShapes {
 public:
  struct Demand {
    bool from_peer = false;
    double bytes = 0;
    double flop = 0;
    program::Arithmetic unit = program::Arithmetic::vector_fp32;
  };
  struct Use {
    std::uint16_t shape = 0;
    double amount = 0;  // units of work of the shape
  };
  // Returns the shape of a demand and its amount of work. If there is no such shape yet, adds one to `shapes`: a copy
  // of `made` with the demand's FLOP per byte. Returns nothing if there are too many shapes.
  std::optional<Use> use(const Demand& demand, const program::PhaseShape& made,
                         std::vector<program::PhaseShape>& shapes);

 private:
  std::map<std::tuple<bool, program::Arithmetic, double>, std::uint16_t> known_;
};

// Appends the kernel of a version 2 trace, whose rows are the steps of workgroups. If the trace cannot be replayed,
// reports why and returns false.
bool append_steps(builder::Builder& build, const WgTraceSpec& spec, const program::WgTrace& trace,
                  program::Kernel kernel, const config::Node& node, config::Diagnostics& diagnostics);

// Reads the trace and appends its kernel. If the file is wrong or does not fit the machine, reports this and returns
// false.
bool append_wg_trace(builder::Builder& build, const WgTraceSpec& spec, const config::Node& node,
                     config::Diagnostics& diagnostics);

}  // namespace moire::kernel
