// Replays a kernel from a workgroup trace: every recorded task gathers, computes and stores to its peer again, on the
// machine of the recording or on another one.
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

enum class TraceUnit { vector, matrix };
enum class TraceGaps { left_out, kept };

struct WgTraceSpec {
  std::filesystem::path file;
  TraceTiming timing = TraceTiming::modelled;
  std::optional<Bytes> row;              // bytes of one random access; memory fetches whole access grains
  TraceUnit unit = TraceUnit::vector;    // only in traces of version 1
  TraceGaps gaps = TraceGaps::left_out;  // only in traces of version 2
  bool pipelined = false;                // only in traces of version 2
  double math_efficiency = 1;
  RankRule ranks = RankRule::as_recorded;
  double cache_miss = 1;      // share of the gathered bytes that no cache holds
  std::optional<Time> fence;  // time to release the stores before a ready flag; absent: port.fence of the GPU
  static void describe(config::Describer<WgTraceSpec>& d);
};

// The phase shapes of a trace's kernel. Demands that differ only in amount share a shape, whose unit of work is a byte,
// or a FLOP where nothing is loaded.
class TraceShapes {
 public:
  struct Demand {
    bool from_peer = false;
    double bytes = 0;
    double flop = 0;
    program::Arithmetic unit = program::Arithmetic::vector_fp32;
  };
  // Returns the shape of the demand, which is made from `made` if it is new, and how many of its units the demand is.
  // Returns nothing if there are too many shapes.
  struct Use {
    std::uint16_t shape = 0;
    double amount = 0;
  };
  std::optional<Use> use(const Demand& demand, const program::PhaseShape& made,
                         std::vector<program::PhaseShape>& shapes);

 private:
  std::map<std::tuple<bool, program::Arithmetic, double>, std::uint16_t> known_;
};

// Appends the kernel of a version 2 trace, whose rows are the steps of workgroups. Returns false after reporting what
// is wrong.
bool append_steps(builder::Builder& build, const WgTraceSpec& spec, const program::WgTrace& trace,
                  program::Kernel kernel, const config::Node& node, config::Diagnostics& diagnostics);

// Reads the trace and appends its kernel. Returns false after reporting what is wrong with the file or the machine.
bool append_wg_trace(builder::Builder& build, const WgTraceSpec& spec, const config::Node& node,
                     config::Diagnostics& diagnostics);

}  // namespace moire::kernel
