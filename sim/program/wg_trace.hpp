// WG trace, version 1: when every workgroup of a kernel started, computed and ended on every rank, as recorded on
// hardware or exported from a simulation. The file format is described in docs/reference/wg-trace.md.
//
// Rows mirror the file: integers in the unit their column says, so that reading and writing lose nothing.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/quantity.hpp"
#include "sim/program/program.hpp"

namespace moire::program {

struct WgTraceHeader {
  std::uint32_t ranks = 0;
  std::string kernel;
  std::uint32_t wgs_per_rank = 0;  // physical workgroups
  std::int64_t threads_per_wg = 0;
  std::int64_t registers_per_thread = 0;
  std::int64_t lds_bytes_per_wg = 0;
  std::int64_t bytes_in_flight_per_wg = 0;
  std::int64_t recorded_end_ns = 0;
  std::vector<std::pair<std::string, std::string>> provenance;  // all other keys, in file order

  bool operator==(const WgTraceHeader&) const = default;
};

struct WgTraceRow {
  enum class Kind : std::uint8_t {
    task,  // one logical workgroup, done by physical workgroup `wg`; stores go to `peer` (own rank if local)
    wait,  // final polling of `wg` for the flags of rank `peer`
  };
  static constexpr std::int64_t no_task = -1;

  Kind kind = Kind::task;
  Rank rank = 0;
  std::uint32_t wg = 0;
  std::int64_t task = no_task;
  std::uint32_t cu = 0;
  Rank peer = 0;
  std::int64_t start_ns = 0;
  std::int64_t compute_end_ns = 0;  // arithmetic done; what follows, until end_ns, is storing and signalling
  std::int64_t end_ns = 0;
  std::int64_t read_bytes = 0;
  std::int64_t flop = 0;
  std::int64_t store_bytes = 0;

  bool operator==(const WgTraceRow&) const = default;
};

// The order rows have in a file: by rank, start, workgroup, task.
bool in_order(const WgTraceRow& first, const WgTraceRow& second);

constexpr Time whole_ns(std::int64_t ns) { return Time{ns * 1000}; }

// Columns of a row, in file order.
enum class WgTraceColumn : std::uint8_t {
  kind,
  rank,
  wg,
  task,
  cu,
  peer,
  start_ns,
  compute_end_ns,
  end_ns,
  read_bytes,
  flop,
  store_bytes
};
inline constexpr std::size_t wg_trace_columns = 12;
inline constexpr std::array<std::string_view, wg_trace_columns> wg_trace_column_names = {
    "kind",     "rank",           "wg",     "task",       "cu",   "peer",
    "start_ns", "compute_end_ns", "end_ns", "read_bytes", "flop", "store_bytes"};
std::string wg_trace_header_row();

inline constexpr std::string_view wg_trace_magic = "# moire-wgtrace";
inline constexpr int wg_trace_version = 1;

// Limits of the format. They keep a wrong file from asking for memory that no right one needs.
inline constexpr std::int64_t wg_trace_most_ranks = 1 << 20;
inline constexpr std::int64_t wg_trace_most_wgs = 1 << 20;  // resident workgroups of one GPU; hardware has thousands
inline constexpr std::int64_t wg_trace_most_cus = 1 << 20;
inline constexpr std::int64_t wg_trace_latest_ns =
    std::numeric_limits<std::int64_t>::max() / 1000;                        // 106 days, see Time
inline constexpr std::int64_t wg_trace_most_bytes = std::int64_t{1} << 53;  // exact as a double, see Bytes and Flop
inline constexpr std::size_t wg_trace_longest_line = 4096;
inline constexpr std::size_t wg_trace_most_metadata = 1000;

}  // namespace moire::program
