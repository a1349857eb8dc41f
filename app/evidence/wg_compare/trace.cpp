#include "app/evidence/wg_compare/trace.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    if (row.kind == WgTraceRow::Kind::wait) continue;
    record.tasks.push_back({row.rank, row.wg, row.cu, whole_ns(row.start_ns), whole_ns(row.end_ns)});
    if (row.peer == row.rank || row.store_bytes == 0) continue;
    const Time end = whole_ns(row.end_ns);
    record.stores.push_back(
        {row.rank, row.peer, whole_ns(row.compute_end_ns), end, end, static_cast<double>(row.store_bytes)});
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

namespace {

const std::string* find(const program::WgTraceHeader& header, const std::string& key) {
  const auto found = std::find_if(header.provenance.begin(), header.provenance.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return found == header.provenance.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<std::string> shape_sets(const program::WgTraceHeader& header, const std::string& path) {
  std::vector<std::string> sets;
  const std::string* shape = find(header, "shape");
  if (!shape) return sets;
  const auto set = [&](std::string_view key, std::string_view value) {
    sets.push_back(fmt::format("{}.{}={}", path, key, value));
  };
  for (std::string_view left = *shape; !left.empty();) {
    const std::string_view entry = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = entry.substr(0, equals);
    set(key == "bags_per_task" ? "bags_per_workgroup" : key, entry.substr(equals + 1));
  }
  if (const std::string* rows = find(header, "rows_per_table")) set("rows_per_table", *rows);
  if (const std::string* order = find(header, "order"))
    set("order", *order == "remote_first" ? "peer_by_peer" : "by_table");
  if (const std::string* popularity = find(header, "row_popularity")) {
    constexpr std::string_view zipf = "zipf ";
    const bool skewed = popularity->compare(0, zipf.size(), zipf) == 0;
    set("zipf_exponent", skewed ? std::string_view(*popularity).substr(zipf.size()) : "0");
  }
  const bool unfused = header.kernel == "unfused_embedding";
  if (unfused) set("schedule", "unfused_kernel");
  set("threads", std::to_string(header.threads_per_wg));
  set(unfused ? "registers_per_thread" : "fused_registers_per_thread", std::to_string(header.registers_per_thread));
  set("in_flight", fmt::format("{} B", header.bytes_in_flight_per_wg));
  return sets;
}

}  // namespace moire::wg_compare
