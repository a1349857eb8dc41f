#include "models/workload/kernel/wg_trace_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace moire::kernel {

using program::Rank;
using program::WgTraceRow;

TraceRanks::TraceRanks(const program::WgTrace& trace, Rank ranks, RankRule rule)
    : trace_(trace), ranks_(ranks), rule_(rule), tasks_(trace.header.ranks) {
  for (const WgTraceRow& row : trace.rows) {
    if (row.kind == WgTraceRow::Kind::task) tasks_[row.rank].push_back(&row);
  }
  if (rule == RankRule::as_recorded) return;
  // Sort the tasks into rounds: the first task of every workgroup, then the second task of every workgroup, and so on.
  // In this order, the tasks for one peer form unbroken runs.
  for (auto& tasks : tasks_) {
    std::map<std::uint32_t, std::uint32_t> done;  // number of tasks so far, by workgroup
    std::vector<std::pair<std::uint32_t, const WgTraceRow*>> rounds;
    for (const WgTraceRow* row : tasks) rounds.emplace_back(done[row->wg]++, row);
    std::stable_sort(rounds.begin(), rounds.end(), [](const auto& a, const auto& b) {
      return std::pair{a.first, a.second->wg} < std::pair{b.first, b.second->wg};
    });
    std::transform(rounds.begin(), rounds.end(), tasks.begin(), [](const auto& round) { return round.second; });
  }
}

std::optional<config::Problem> TraceRanks::problem() const {
  if (ranks_ == recorded()) return std::nullopt;
  const std::string sizes = fmt::format("the trace has {} ranks, but the system has {}", recorded(), ranks_);
  if (trace_.header.version > 1) {
    return config::Problem{
        sizes + ", and the flags that a trace of version 2 names cannot be converted to more ranks",
        fmt::format("run it in groups of {} ranks (group:), or on a system of {}", recorded(), recorded())};
  }
  if (rule_ == RankRule::as_recorded) {
    return config::Problem{
        sizes,
        fmt::format(
            "write ranks: split or ranks: repeat, or set system.nodes and system.node.gpus so that there are {} ranks",
            recorded())};
  }
  if (ranks_ % recorded() != 0)
    return config::Problem{sizes + ", which is not a multiple", fmt::format("use a multiple of {} ranks", recorded())};
  const Rank times = ranks_ / recorded();
  for (Rank rank = 0; rank < recorded() && rule_ == RankRule::split; ++rank) {
    std::vector<std::uint32_t> tasks(recorded());
    for (const WgTraceRow* row : tasks_[rank]) ++tasks[turn_of(*row)];
    for (Rank turn = 0; turn < recorded(); ++turn) {
      if (tasks[turn] % times == 0) continue;
      return config::Problem{
          fmt::format("rank {} has {} tasks for rank {}, which cannot be divided evenly among {} ranks", rank,
                      tasks[turn], (rank + 1 + turn) % recorded(), times),
          "use fewer ranks, or write ranks: repeat"};
    }
  }
  return std::nullopt;
}

std::string TraceRanks::told() const {
  if (ranks_ == recorded()) return "";
  const Rank times = ranks_ / recorded();
  return fmt::format(
      "{}: a trace of {} ranks runs on {} ranks: rank r does the tasks of recorded rank r modulo {}; its tasks for a "
      "peer are {} {} peers",
      trace_.header.kernel, recorded(), ranks_, recorded(),
      rule_ == RankRule::split ? "divided among" : "repeated for each of", times);
}

std::vector<WgTraceRow> TraceRanks::tasks_of(Rank rank) const {
  std::vector<WgTraceRow> made;
  const auto& tasks = tasks_[rank % recorded()];
  const Rank times = ranks_ / recorded();
  made.reserve(tasks.size() * (rule_ == RankRule::repeat ? times : 1));
  const auto add = [&](const WgTraceRow& row, Rank turn) {
    WgTraceRow& task = made.emplace_back(row);
    task.rank = rank;
    task.peer = (rank + 1 + turn) % ranks_;
    if (rule_ == RankRule::repeat) task.wg = static_cast<std::uint32_t>((made.size() - 1) % trace_.header.wgs_per_rank);
  };
  std::vector<std::size_t> seen(recorded());
  for (std::size_t begin = 0, end = 0; begin < tasks.size(); begin = end) {
    const Rank turn = turn_of(*tasks[begin]);
    while (end < tasks.size() && turn_of(*tasks[end]) == turn) ++end;
    if (rule_ == RankRule::repeat) {
      for (Rank part = 0; part < times; ++part) {
        for (std::size_t i = begin; i < end; ++i) add(*tasks[i], turn * times + part);
      }
      continue;
    }
    // A run is a sequence of tasks for the same recorded peer. split: `times` ranks replace this peer. A run whose
    // length is a multiple of `times` is divided into equal parts, one for each of these ranks. Tasks of other runs go
    // to these ranks in turn.
    const std::size_t length = end - begin;
    for (std::size_t i = begin; i < end; ++i, ++seen[turn]) {
      const std::size_t part = length % times == 0 ? (i - begin) / (length / times) : seen[turn] % times;
      add(*tasks[i], turn * times + static_cast<Rank>(part));
    }
  }
  return made;
}

}  // namespace moire::kernel
