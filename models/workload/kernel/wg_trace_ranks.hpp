// A trace on another number of ranks than it was recorded on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/problem.hpp"
#include "sim/program/wg_trace_files.hpp"

namespace moire::kernel {

// Rank r does what rank r modulo the recorded ranks did. Its peers rotate with it: what was for the next rank, the one
// after it, ... and last the rank itself, is for the next ones, ... and last the rank itself of as many times more
// ranks.
enum class RankRule {
  as_recorded,  // the same number of ranks
  split,        // the tasks for a peer are shared out among the peers in its place: as much work a rank as recorded
  repeat,       // they are done again for each of them: as many times more work as there are ranks
};

class TraceRanks {
 public:
  TraceRanks(const program::WgTrace& trace, program::Rank ranks, RankRule rule);

  // Why the rule does not say what every rank does; nothing where it does.
  std::optional<config::Problem> problem() const;
  // What was done to the record, in words; empty where nothing was.
  std::string told() const;

  // Tasks of a rank in the order in which they are dealt to its workgroups.
  std::vector<program::WgTraceRow> tasks_of(program::Rank rank) const;

 private:
  program::Rank recorded() const { return trace_.header.ranks; }
  // Where the peer of a recorded task comes in the order of the rank's peers: the next rank first, the rank itself
  // last.
  program::Rank turn_of(const program::WgTraceRow& row) const {
    return (row.peer + recorded() - row.rank - 1) % recorded();
  }

  const program::WgTrace& trace_;
  program::Rank ranks_;
  RankRule rule_;
  std::vector<std::vector<const program::WgTraceRow*>> tasks_;  // of each recorded rank, round by round
};

}  // namespace moire::kernel
