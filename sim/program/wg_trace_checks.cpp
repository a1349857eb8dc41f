#include "sim/program/wg_trace_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::program {

bool WgTraceChecks::Tasks::insert(std::int64_t task) {
  constexpr std::int64_t bits = 512;
  const std::int64_t number = task / bits;
  if (number != number_) {
    page_ = &pages_[number];
    number_ = number;
  }
  const auto bit = static_cast<std::size_t>(task % bits);
  std::uint64_t& word = (*page_)[bit / 64];
  const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
  const bool fresh = (word & mask) == 0;
  word |= mask;
  return fresh;
}

void WgTraceChecks::Tasks::clear() {
  pages_.clear();
  number_ = -1;
  page_ = nullptr;
}

namespace {

std::string ranks_without_rows(std::int64_t first, std::int64_t last) {
  if (first == last) return fmt::format("rank {} has no rows", first);
  return fmt::format("ranks {} to {} have no rows", first, last);
}

std::string key_of(const WgTraceRow& row) {
  return fmt::format("({}, {}, {}, {})", row.rank, row.start_ns, row.wg, row.task);
}

constexpr const char* every_rank = "every rank from 0 to 'ranks' - 1 needs rows";

}  // namespace

bool WgTraceChecks::row(const WgTraceRow& row, std::int64_t line, const WgTraceFieldColumns& columns,
                        Complaints& report) {
  const std::optional<WgTraceRow> last = last_;
  last_ = row;  // also if the row is out of order, so that one wrong time does not give an error for each later row
  latest_end_ns_ = std::max(latest_end_ns_, row.end_ns);
  if (last && last->rank != row.rank) {
    tasks_.clear();
    task_of_wg_.clear();
  }
  if (last && !in_order(*last, row, version_)) {
    const WgTraceColumn at = last->rank != row.rank               ? WgTraceColumn::rank
                             : version_ > 1 && last->wg != row.wg ? WgTraceColumn::wg
                                                                  : WgTraceColumn::start_ns;
    if (version_ == 1) {
      report.error(
          line, columns[at],
          fmt::format("rows are not sorted: (rank, start_ns, wg, task) = {} after {}", key_of(row), key_of(*last)),
          "sort them by these columns, as numbers");
    } else {
      report.error(line, columns[at],
                   fmt::format("rows are not sorted: (rank, wg, start_ns) = ({}, {}, {}) after ({}, {}, {})", row.rank,
                               row.wg, row.start_ns, last->rank, last->wg, last->start_ns),
                   "sort them by rank and workgroup, and the rows of a workgroup in the order of its work");
    }
    return false;
  }
  const std::int64_t expected = last ? std::int64_t{last->rank} + 1 : 0;
  if (row.rank > expected && report.ok()) {
    report.error(line, columns[WgTraceColumn::rank], ranks_without_rows(expected, row.rank - std::int64_t{1}),
                 every_rank);
  }
  if (version_ > 1 || row.kind != WgTraceRow::Kind::task) return true;
  if (!tasks_.insert(row.task)) {
    report.error(line, columns[WgTraceColumn::task],
                 fmt::format("task {} appears twice on rank {}", row.task, row.rank),
                 "write one row per task of a rank");
    return false;
  }
  if (task_of_wg_.size() <= row.wg) task_of_wg_.resize(row.wg + std::size_t{1});
  Latest& before = task_of_wg_[row.wg];
  if (row.start_ns < before.end_ns) {
    report.error(line, columns[WgTraceColumn::start_ns],
                 fmt::format("workgroup {} starts task {} at {} ns, before its task on line {} ends at {} ns", row.wg,
                             row.task, row.start_ns, before.line, before.end_ns),
                 "a workgroup does one task at a time");
    return false;
  }
  before = {row.end_ns, line};
  return true;
}

void WgTraceChecks::finish(const WgTraceHeader& header, const WgTracePlaces& places, std::int64_t line,
                           Complaints& report) const {
  if (!report.ok()) return;  // some rows were not counted
  if (!last_) {
    report.error(line, 1, "the trace has no rows", "a WG trace has at least one row for each rank");
    return;
  }
  if (last_->rank + 1 < header.ranks) {
    report.error(places.ranks.line, places.ranks.col,
                 ranks_without_rows(std::int64_t{last_->rank} + 1, std::int64_t{header.ranks} - 1), every_rank);
  }
  if (latest_end_ns_ != header.recorded_end_ns) {
    report.error(
        places.recorded_end_ns.line, places.recorded_end_ns.col,
        fmt::format("'recorded_end_ns' is {}, but the last row ends at {}", header.recorded_end_ns, latest_end_ns_),
        "it is the latest end_ns of all rows; is the file complete?");
  }
}

}  // namespace moire::program
