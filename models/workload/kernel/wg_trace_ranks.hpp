// Replays a trace on a multiple of the ranks on which it was recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/problem.hpp"
#include "sim/program/wg_trace_files.hpp"

namespace moire::kernel {

// How a trace of n ranks is replayed on t x n ranks. Rank r of the replay does the tasks of recorded rank q = r modulo
// n. A recorded task stores to one peer, rank q + k modulo n: k = 1 is the next rank, and k = n is rank q itself. In
// the replay, t ranks take the place of this peer: the ranks from r + (k - 1) t + 1 to r + k t, modulo t x n.
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
  // Returns a note that says how the replay differs from the recording; an empty text if it does not differ.
  std::string told() const;

  // Returns the tasks of a rank, in the order in which they are dealt to its workgroups.
  std::vector<program::WgTraceRow> tasks_of(program::Rank rank) const;

 private:
  program::Rank recorded() const { return trace_.header.ranks; }
  // Returns the position of a task's peer among the recorded ranks, counted from the task's own rank: 0 for the next
  // rank, and the last position for the task's rank.
  program::Rank turn_of(const program::WgTraceRow& row) const {
    return (row.peer + recorded() - row.rank - 1) % recorded();
  }

  const program::WgTrace& trace_;
  program::Rank ranks_;
  RankRule rule_;
  // The tasks of each recorded rank. Unless the rule is as_recorded, they are sorted into rounds: the first task of
  // every workgroup, then the second task of every workgroup, and so on.
  std::vector<std::vector<const program::WgTraceRow*>> tasks_;
};

}  // namespace moire::kernel
