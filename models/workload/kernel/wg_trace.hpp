// A kernel replayed from a workgroup trace: every recorded task gathers, computes and stores to its peer again, on the
// machine it was recorded on or on another one.
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
  modelled,  // gather and stores take what the machine's models say
  recorded,  // gather and arithmetic take the recorded time; stores and flags are modelled
};

enum class TraceUnit { vector, matrix };
enum class TraceGaps { left_out, kept };

struct WgTraceSpec {
  std::filesystem::path file;
  TraceTiming timing = TraceTiming::modelled;
  std::optional<Bytes> row;              // of one random access, for the memory's access granularity
  TraceUnit unit = TraceUnit::vector;    // version 1
  TraceGaps gaps = TraceGaps::left_out;  // version 2
  bool pipelined = false;                // version 2
  double math_efficiency = 1;
  RankRule ranks = RankRule::as_recorded;
  double cache_miss = 1;      // share of the gathered bytes that no cache holds
  std::optional<Time> fence;  // release of a workgroup's stores before its ready flag; absent: the port's
  static void describe(config::Describer<WgTraceSpec>& d);
};

// What the phases of a trace's kernel are made of: shapes of equal demands are one. Demands are those of a byte, or of
// a FLOP where nothing is loaded.
class TraceShapes {
 public:
  struct Demand {
    bool from_peer = false;
    double bytes = 0;
    double flop = 0;
    program::Arithmetic unit = program::Arithmetic::vector_fp32;
  };
  // The shape that `made` becomes with the demand, and how many units of it. Nothing where there are too many.
  struct Use {
    std::uint16_t shape = 0;
    double amount = 0;
  };
  std::optional<Use> use(const Demand& demand, const program::PhaseShape& made,
                         std::vector<program::PhaseShape>& shapes);

 private:
  std::map<std::tuple<bool, program::Arithmetic, double>, std::uint16_t> known_;
};

// Appends the kernel of a trace of version 2, whose rows are the steps of workgroups.
bool append_steps(builder::Builder& build, const WgTraceSpec& spec, const program::WgTrace& trace,
                  program::Kernel kernel, const config::Node& node, config::Diagnostics& diagnostics);

// Reads the trace and appends its kernel; false after reporting what is wrong with the file or the machine.
bool append_wg_trace(builder::Builder& build, const WgTraceSpec& spec, const config::Node& node,
                     config::Diagnostics& diagnostics);

}  // namespace moire::kernel
