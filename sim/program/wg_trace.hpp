// A WG trace states when each workgroup of a kernel started, computed and ended on each rank. It is recorded on
// hardware or exported from a simulation. Version 1 has one row per task, version 2 has one row per step of a
// workgroup. docs/reference/wg-trace.md describes the file format.
//
// WgTraceRow contains the integers of the file in the units of their columns, so that reading and writing lose nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/quantity.hpp"
#include "sim/program/program.hpp"

namespace moire::program {

struct WgTraceHeader {
  int version = 1;
  std::uint32_t ranks = 0;
  std::string kernel;
  std::uint32_t wgs_per_rank = 0;  // resident (physical) workgroups
  std::int64_t threads_per_wg = 0;
  std::int64_t registers_per_thread = 0;
  std::int64_t lds_bytes_per_wg = 0;
  std::int64_t bytes_in_flight_per_wg = 0;
  std::int64_t recorded_end_ns = 0;
  std::vector<std::pair<std::string, std::string>> provenance;  // all other keys, in the order of the file

  bool operator==(const WgTraceHeader&) const = default;
};

struct WgTraceRow {
  enum class Kind : std::uint8_t {
    // Version 1
    task,  // one logical workgroup, executed by physical workgroup `wg`; stores to `peer` (`rank` if local)
    wait,  // version 1: `wg` finally polls flags of `peer`; version 2: waits until `flag` was raised `count` times
    // Version 2
    work,    // loads from the memory of `peer`, overlapped with arithmetic
    store,   // stores to the memory of `peer`; ends when they are issued
    fence,   // waits until the workgroup's stores have arrived
    signal,  // raises `flag` of `peer`
    put,     // a message to `peer` that raises `flag` there
  };
  enum class Unit : std::uint8_t { none, vector_fp32, matrix_fp16, matrix_bf16 };
  static constexpr std::int64_t no_task = -1;
  static constexpr std::int64_t no_flag = -1;

  Kind kind = Kind::task;
  Rank rank = 0;
  std::uint32_t wg = 0;
  std::int64_t task = no_task;
  std::uint32_t cu = 0;
  Rank peer = 0;
  std::int64_t start_ns = 0;
  std::int64_t compute_end_ns = 0;  // version 1: end of arithmetic; stores and signals follow until end_ns
  std::int64_t end_ns = 0;
  std::int64_t read_bytes = 0;  // version 1
  std::int64_t flop = 0;
  std::int64_t store_bytes = 0;  // version 1
  // Version 2
  std::int64_t bytes = 0;
  Unit unit = Unit::none;
  std::int64_t flag = no_flag;  // index of a flag of the rank where it is raised
  std::int64_t count = 0;

  bool operator==(const WgTraceRow&) const = default;
};

// True if `first` may come before `second` in a file. The rows of version 1 are sorted by rank, start, workgroup and
// task, those of version 2 by rank, workgroup and start.
bool in_order(const WgTraceRow& first, const WgTraceRow& second, int version);

constexpr Time whole_ns(std::int64_t ns) { return Time{ns * 1000}; }

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
  store_bytes,
  bytes,
  unit,
  flag,
  count
};
inline constexpr std::size_t wg_trace_columns = 16;  // in all versions together
std::string_view name_of(WgTraceColumn column);
std::span<const WgTraceColumn> wg_trace_columns_of(int version);  // in file order
std::string wg_trace_header_row(int version);

// Return the name of a kind or unit in the rows of a file.
std::string_view name_of(WgTraceRow::Kind kind);
std::string_view name_of(WgTraceRow::Unit unit);
std::span<const WgTraceRow::Kind> wg_trace_kinds_of(int version);
inline constexpr std::size_t wg_trace_units = 4;

inline constexpr std::string_view wg_trace_magic = "# moire-wgtrace";
inline constexpr int wg_trace_version = 2;  // the latest version

// Limits of the format, so that a malformed file cannot make the reader use more memory than a valid file needs.
inline constexpr std::int64_t wg_trace_most_ranks = 1 << 20;
inline constexpr std::int64_t wg_trace_most_wgs = 1 << 20;  // resident workgroups per GPU; hardware has thousands
inline constexpr std::int64_t wg_trace_most_cus = 1 << 20;
inline constexpr std::int64_t wg_trace_latest_ns =
    std::numeric_limits<std::int64_t>::max() / 1000;                        // 106 days, the range of Time
inline constexpr std::int64_t wg_trace_most_bytes = std::int64_t{1} << 53;  // exact as a double, see Bytes and Flop
inline constexpr std::int64_t wg_trace_most_flags = 1 << 20;                // per rank
inline constexpr std::size_t wg_trace_longest_line = 4096;
inline constexpr std::size_t wg_trace_most_metadata = 1000;

}  // namespace moire::program
