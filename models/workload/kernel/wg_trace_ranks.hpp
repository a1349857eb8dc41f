// Replays a trace on a multiple of the ranks on which it was recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/problem.hpp"
#include "sim/program/wg_trace_files.hpp"

namespace moire::kernel {

// How to replay a trace on t times as many ranks as it was recorded on. Rank r does the tasks of recorded rank r modulo
// the number of recorded ranks. Tasks for the k-th rank after the recorded one (k = 1, 2, ...; the rank itself comes
// last) are for the t ranks from (k - 1) t + 1 to k t after rank r.
enum class RankRule {
  as_recorded,  // the system must have as many ranks as the trace
  split,        // the tasks for a recorded peer are divided among these t ranks: as much work per rank as recorded
  repeat,       // the tasks for a recorded peer are repeated for each of these t ranks: t times as much work per rank
};

// The tasks of every rank of a replay.
class TraceRanks {
 public:
  TraceRanks(const program::WgTrace& trace, program::Rank ranks, RankRule rule);

  // Returns why the rule does not determine the tasks of every rank; nothing if it does.
  std::optional<config::Problem> problem() const;
  // A note that says how the replay differs from the recording; empty if it does not.
  std::string told() const;

  // Tasks of a rank, in the order in which they are dealt to its workgroups.
  std::vector<program::WgTraceRow> tasks_of(program::Rank rank) const;

 private:
  program::Rank recorded() const { return trace_.header.ranks; }
  // Position of a task's peer in the order of ranks after the task's own rank: 0 is the next rank, and the rank itself
  // comes last.
  program::Rank turn_of(const program::WgTraceRow& row) const {
    return (row.peer + recorded() - row.rank - 1) % recorded();
  }

  const program::WgTrace& trace_;
  program::Rank ranks_;
  RankRule rule_;
  // By recorded rank. Unless the rule is as_recorded, sorted into rounds: the first task of every workgroup, then the
  // second task of every workgroup, and so on.
  std::vector<std::vector<const program::WgTraceRow*>> tasks_;
};

}  // namespace moire::kernel
