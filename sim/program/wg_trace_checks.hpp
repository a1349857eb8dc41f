// Checks that compare the rows of a WG trace with one another. Reader and writer share them, so that no file is
// written that would not be read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/program/wg_trace_header.hpp"
#include "sim/program/wg_trace_rows.hpp"

namespace moire::program {

// Memory: about a bit for each task of one rank, where tasks are numbered densely, and 16 bytes for each of its
// workgroups.
class WgTraceChecks {
 public:
  explicit WgTraceChecks(int version = 1) : version_(version) {}

  // Takes the next row, which check_row() has passed; false when an error was reported.
  bool row(const WgTraceRow& row, std::int64_t line, const WgTraceFieldColumns& columns, Complaints& report);

  // After the last row, on `line`.
  void finish(const WgTraceHeader& header, const WgTracePlaces& places, std::int64_t line, Complaints& report) const;

 private:
  // Which tasks of the current rank were there: bits in pages, as numbers need not be dense.
  class Tasks {
   public:
    bool insert(std::int64_t task);  // false if it was there
    void clear();

   private:
    using Page = std::array<std::uint64_t, 8>;
    std::unordered_map<std::int64_t, Page> pages_;
    std::int64_t number_ = -1;  // of the page used last: neighbours in time are mostly neighbours in number
    Page* page_ = nullptr;
  };
  struct Latest {
    std::int64_t end_ns = 0;
    std::int64_t line = 0;
  };

  int version_;
  std::optional<WgTraceRow> last_;
  std::int64_t latest_end_ns_ = 0;
  Tasks tasks_;
  std::vector<Latest> task_of_wg_;  // the one that ends last, by workgroup of the current rank
};

}  // namespace moire::program
