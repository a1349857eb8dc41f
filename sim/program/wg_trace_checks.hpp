// Checks the rows of a WG trace against each other. The reader and the writer of traces share these checks, so that the
// writer never writes a file that the reader would refuse.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/program/wg_trace_header.hpp"
#include "sim/program/wg_trace_rows.hpp"

namespace moire::program {

// The checks need about one bit of memory per task of a rank if tasks are numbered densely, and 16 bytes per workgroup
// of the rank.
class WgTraceChecks {
 public:
  explicit WgTraceChecks(int version = 1) : version_(version) {}

  // Checks the next row, which has passed check_row(); returns false if it reported an error.
  bool row(const WgTraceRow& row, std::int64_t line, const WgTraceFieldColumns& columns, Complaints& report);

  // Call after the last row; `line` is the line after it.
  void finish(const WgTraceHeader& header, const WgTracePlaces& places, std::int64_t line, Complaints& report) const;

 private:
  // The set of tasks seen on the current rank, as pages of bits because task numbers may be sparse.
  class Tasks {
   public:
    bool insert(std::int64_t task);  // false if it was already present
    void clear();

   private:
    using Page = std::array<std::uint64_t, 8>;
    std::unordered_map<std::int64_t, Page> pages_;
    std::int64_t number_ = -1;  // the page that was used last, because successive tasks mostly have close numbers
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
  std::vector<Latest> task_of_wg_;  // for each workgroup of the current rank, its task with the latest end
};

}  // namespace moire::program
