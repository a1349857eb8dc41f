// Replays a trace on a multiple of the ranks that it was recorded on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/problem.hpp"
#include "sim/program/wg_trace_files.hpp"

namespace moire::kernel {

// Rank r repeats the tasks of rank r modulo the number of recorded ranks. On t times as many ranks, tasks for the k-th
// rank after it (k = 1, 2, ...; the rank itself comes last) go to the ranks (k - 1) t + 1 to k t after it.
enum class RankRule {
  as_recorded,  // the number of ranks must be the same
  split,        // the tasks for a peer are divided among the t peers in its place: as much work per rank as recorded
  repeat,       // they are repeated for each of the t peers: t times as much work per rank
};

class TraceRanks {
 public:
  TraceRanks(const program::WgTrace& trace, program::Rank ranks, RankRule rule);

  // Why the rule does not determine what every rank does; nothing if it does.
  std::optional<config::Problem> problem() const;
  // What was changed from the recording, in words; empty if nothing was.
  std::string told() const;

  // Tasks of a rank, in the order in which they are dealt to its workgroups.
  std::vector<program::WgTraceRow> tasks_of(program::Rank rank) const;

 private:
  program::Rank recorded() const { return trace_.header.ranks; }
  // The place of a task's peer among the rank's peers: 0 is the next rank, and the rank itself comes last.
  program::Rank turn_of(const program::WgTraceRow& row) const {
    return (row.peer + recorded() - row.rank - 1) % recorded();
  }

  const program::WgTrace& trace_;
  program::Rank ranks_;
  RankRule rule_;
  std::vector<std::vector<const program::WgTraceRow*>> tasks_;  // by recorded rank; round by round unless as_recorded
};

}  // namespace moire::kernel
