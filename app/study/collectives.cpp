#include "app/study/collectives.hpp"

#include <algorithm>

namespace moire::study {

namespace {

// Returns for each rank the time from the begin of its first to the end of its last operation of the collective. A rank
// that runs none of them has the begin Time::max().
std::vector<replay::Span> whole_spans(const builder::Exchange& exchange, std::size_t first,
                                      const replay::Result& result) {
  std::vector<replay::Span> whole;
  for (std::size_t operation = first; operation < first + exchange.operations; ++operation) {
    const std::vector<replay::Span>& spans = result.spans[operation];
    if (whole.empty()) whole.resize(spans.size(), {Time::max(), Time{}});
    for (std::size_t rank = 0; rank < spans.size(); ++rank) {
      if (spans[rank].end == Time{}) continue;  // the operation does not run on this rank
      whole[rank].begin = std::min(whole[rank].begin, spans[rank].begin);
      whole[rank].end = std::max(whole[rank].end, spans[rank].end);
    }
  }
  return whole;
}

}  // namespace

std::vector<RankTime> rank_times(const builder::Exchange& exchange, std::size_t first_operation,
                                 const replay::Result& result) {
  const std::vector<replay::Span> spans = whole_spans(exchange, first_operation, result);
  std::vector<RankTime> times;
  const auto add = [&](const std::vector<program::Rank>& members) {
    Time last;
    // If one block of nodes is simulated on behalf of all, the ranks of other blocks arrive when their counterparts in
    // the simulated block arrive.
    for (const program::Rank member : members) last = std::max(last, spans[member % spans.size()].begin);
    for (const program::Rank member : members) {
      if (member >= spans.size()) continue;
      const replay::Span& own = spans[member];
      const Time wait = std::min(last, own.end) - own.begin;
      times.push_back({wait, own.end - own.begin - wait});
    }
  };
  if (spans.empty()) return times;
  if (exchange.communicators) {
    for (const std::vector<program::Rank>& members : *exchange.communicators) add(members);
  } else {
    std::vector<program::Rank> all;
    for (program::Rank rank = 0; rank < spans.size(); ++rank)
      if (spans[rank].end != Time{}) all.push_back(rank);
    add(all);
  }
  return times;
}

}  // namespace moire::study
