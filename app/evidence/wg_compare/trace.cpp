#include "app/evidence/wg_compare/trace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/workload/operators/registry.hpp"

namespace moire::wg_compare {

using program::WgTraceRow;
using program::whole_ns;

std::optional<Trace> read_trace(const std::filesystem::path& file, program::WgTraceFiles& files,
                                config::Diagnostics& diagnostics) {
  const auto read = files.read(file, diagnostics);
  if (!read) return std::nullopt;
  Trace trace{read->header, {}};
  Record& record = trace.record;
  record.kernel = trace.header.kernel;
  record.ranks = trace.header.ranks;
  record.workgroups_per_rank = trace.header.wgs_per_rank;
  Time first = Time::max();
  for (const WgTraceRow& row : read->rows) {
    first = std::min(first, whole_ns(row.start_ns));
    const bool stored = row.kind == WgTraceRow::Kind::store || row.kind == WgTraceRow::Kind::put;
    if (row.kind == WgTraceRow::Kind::task || row.kind == WgTraceRow::Kind::work)
      record.tasks.push_back({row.rank, row.wg, row.cu, whole_ns(row.start_ns), whole_ns(row.end_ns)});
    const std::int64_t bytes = stored ? row.bytes : row.store_bytes;
    if (row.peer == row.rank || bytes == 0) continue;
    const Time begin = whole_ns(stored ? row.start_ns : row.compute_end_ns), end = whole_ns(row.end_ns);
    record.stores.push_back({row.rank, row.peer, begin, end, end, static_cast<double>(bytes)});
  }
  for (Task& task : record.tasks) {
    task.begin = task.begin - first;
    task.end = task.end - first;
  }
  for (Store& store : record.stores) {
    store.begin = store.begin - first;
    store.end = store.end - first;
    store.arrived = store.arrived - first;
  }
  record.makespan = whole_ns(trace.header.recorded_end_ns) - first;
  return trace;
}

std::vector<std::string> shape_sets(const program::WgTraceHeader& header, const std::string& path) {
  std::vector<std::string> sets;
  const builder::Operator* recorded = operators::find(path.substr(path.rfind('.') + 1));
  if (!recorded || !recorded->keys_of_trace) return sets;
  for (const auto& [key, value] : recorded->keys_of_trace(header))
    sets.push_back(fmt::format("{}.{}={}", path, key, value));
  return sets;
}

}  // namespace moire::wg_compare
