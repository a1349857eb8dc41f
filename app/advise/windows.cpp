#include "app/advise/windows.hpp"

#include <algorithm>

namespace moire::advise {

namespace {

// Returns the kind of a capacity: "rank 3 port out" -> "port out", "link 0 to 1" -> "links".
std::string kind_of(std::string_view capacity) {
  if (capacity.starts_with("link ")) return "links";
  if (!capacity.starts_with("rank ")) return std::string(capacity.substr(0, capacity.find(' ')));
  const std::size_t number = capacity.find(' ', 5);
  return number == std::string_view::npos ? std::string(capacity) : std::string(capacity.substr(number + 1));
}

}  // namespace

Windows::Windows(std::vector<Time> ends, std::uint32_t ranks, std::int64_t cus, std::int64_t engines)
    : ends_(std::move(ends)), ranks_(ranks), cus_(cus), engines_(engines) {
  working_.resize(std::size_t{ranks} * static_cast<std::size_t>(cus));
}

void Windows::spend(const std::string& kind, Time begin, Time end, double share) {
  std::vector<double>& busy = busy_[kind];
  busy.resize(ends_.size());
  Time from;
  for (std::size_t w = 0; w < ends_.size(); from = ends_[w++]) {
    const Time first = std::max(begin, from);
    const Time last = std::min(end, ends_[w]);
    if (last > first) busy[w] += share * (last - first).seconds();
  }
}

void Windows::load(std::string_view capacity, program::Rank, Time now, double units_per_second, double rate) {
  const auto [at, fresh] = loads_.try_emplace(std::string(capacity), Load{kind_of(capacity), now, 0});
  Load& load = at->second;
  if (fresh) ++members_[load.kind];
  spend(load.kind, load.since, now, load.share);
  load.since = now;
  load.share = rate > 0 ? units_per_second / rate : 0;
}

void Windows::copy(const program::CopySpan& span) { spend("DMA engines", span.begin, span.end, 1); }

// Spans come in the order of their ends, so a new span can overlap only the latest spans of its CU.
void Windows::workgroup(const program::WorkgroupSpan& span) {
  if (!span.work || span.posted || span.cu == program::no_cu) return;
  std::vector<Span>& spans = working_[span.rank * static_cast<std::size_t>(cus_) + span.cu];
  Time begin = span.begin;
  while (!spans.empty() && spans.back().end >= begin) {
    begin = std::min(begin, spans.back().begin);
    spans.pop_back();
  }
  spans.push_back({begin, span.end});
}

std::vector<Share> Windows::shares() {
  for (const auto& [name, load] : loads_) spend(load.kind, load.since, ends_.back(), load.share);
  loads_.clear();
  for (const std::vector<Span>& spans : working_) {
    for (const Span& span : spans) spend("CUs", span.begin, span.end, 1);
  }
  working_.clear();
  members_["DMA engines"] = ranks_ * static_cast<std::size_t>(engines_);
  members_["CUs"] = ranks_ * static_cast<std::size_t>(cus_);
  std::vector<Share> shares;
  Time from;
  for (std::size_t w = 0; w < ends_.size(); from = ends_[w++]) {
    const double seconds = (ends_[w] - from).seconds();
    for (const auto& [kind, busy] : busy_) {
      const double share = seconds > 0 ? busy[w] / seconds / static_cast<double>(members_[kind]) : 0;
      shares.push_back({w, kind, share});
    }
  }
  return shares;
}

}  // namespace moire::advise
