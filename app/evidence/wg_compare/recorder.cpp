#include "app/evidence/wg_compare/recorder.hpp"

#include <algorithm>

namespace moire::wg_compare {

void Recorder::workgroup(const program::WorkgroupSpan& span) {
  auto found = kernels_.find(span.kernel);
  if (found == kernels_.end()) found = kernels_.try_emplace(std::string(span.kernel)).first;
  Kernel& kernel = found->second;
  kernel.first = std::min(kernel.first, span.begin);
  kernel.last = std::max(kernel.last, span.end);
  Record& record = kernel.record;
  record.workgroups_per_rank = std::max(record.workgroups_per_rank, span.workgroup + 1);
  if (!span.work) {
    const auto open = kernel.open.find({span.rank, span.workgroup});
    if (open != kernel.open.end()) open->second.over = true;
    return;
  }
  if (!span.posted) work(kernel, span);
  if (span.peer == span.rank || span.peer_bytes.value == 0) return;
  // A workgroup issues posted stores at once, and other stores throughout the phase.
  record.stores.push_back(
      {span.rank, span.peer, span.begin, span.posted ? span.begin : span.end, span.end, span.peer_bytes.value});
}

void Recorder::work(Kernel& kernel, const program::WorkgroupSpan& span) {
  std::vector<Task>& tasks = kernel.record.tasks;
  const OpenTask begun{tasks.size(), span.phase, span.peer, span.loads, false};
  const auto [at, fresh] = kernel.open.try_emplace({span.rank, span.workgroup}, begun);
  OpenTask& open = at->second;
  if (!fresh && !open.over && open.first_phase != span.phase && open.peer == span.peer) {
    tasks[open.task].end = span.end;
    return;
  }
  if (!fresh && open.loads && !span.loads) return;  // stores of the open task to another peer or after a fence
  open = begun;
  tasks.push_back({span.rank, span.workgroup, span.cu, span.begin, span.end});
}

void Recorder::put(const program::PutSpan& span) {
  if (span.source == span.destination || span.bytes.value == 0) return;
  puts_.push_back({span.source, span.destination, span.begin, span.begin, span.end, span.bytes.value});
}

std::vector<std::string> Recorder::kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : kernels_) {
    if (!kernel.record.tasks.empty()) names.push_back(name);
  }
  return names;
}

std::optional<Record> Recorder::record(const std::string& kernel) const {
  const std::vector<std::string> working = kernels();
  if (working.empty()) return std::nullopt;
  const bool there = std::find(working.begin(), working.end(), kernel) != working.end();
  if (!there && working.size() > 1) return std::nullopt;
  const auto& [name, taken] = *kernels_.find(there ? kernel : working.front());
  Record record = taken.record;
  record.kernel = name;
  record.ranks = ranks_;
  record.makespan = taken.last - taken.first;
  record.knows_arrivals = true;
  record.stores.insert(record.stores.end(), puts_.begin(), puts_.end());
  for (Task& task : record.tasks) {
    task.begin = task.begin - taken.first;
    task.end = task.end - taken.first;
  }
  for (Store& store : record.stores) {
    store.begin = store.begin - taken.first;
    store.end = store.end - taken.first;
    store.arrived = store.arrived - taken.first;
  }
  return record;
}

}  // namespace moire::wg_compare
