#include "sim/program/wg_trace.hpp"

#include <fmt/format.h>

#include <tuple>

namespace moire::program {

bool in_order(const WgTraceRow& first, const WgTraceRow& second) {
  return std::tie(first.rank, first.start_ns, first.wg, first.task) <=
         std::tie(second.rank, second.start_ns, second.wg, second.task);
}

std::string wg_trace_header_row() { return fmt::format("{}", fmt::join(wg_trace_column_names, ",")); }

}  // namespace moire::program
