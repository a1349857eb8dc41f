// WG trace: when every workgroup of a kernel started, computed and ended on every rank, as recorded on hardware or
// exported from a simulation. Version 1 has a row for each task, version 2 one for each step of a workgroup. The file
// format is described in docs/reference/wg-trace.md.
//
// Rows mirror the file: integers in the unit their column says, so that reading and writing lose nothing.
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
    // Version 1
    task,  // one logical workgroup, done by physical workgroup `wg`; stores go to `peer` (own rank if local)
    wait,  // final polling of `wg` for the flags of rank `peer`; of version 2, until `flag` was raised `count` times
    // Version 2
    work,    // loads from the memory of `peer` and arithmetic, side by side
    store,   // to the memory of `peer`; the workgroup goes on when they are issued
    fence,   // until its stores have arrived
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
  std::int64_t compute_end_ns = 0;  // version 1: arithmetic done; until end_ns follow storing and signalling
  std::int64_t end_ns = 0;
  std::int64_t read_bytes = 0;  // version 1
  std::int64_t flop = 0;
  std::int64_t store_bytes = 0;  // version 1
  // Version 2
  std::int64_t bytes = 0;
  Unit unit = Unit::none;
  std::int64_t flag = no_flag;  // number of a flag of the rank where it is raised
  std::int64_t count = 0;

  bool operator==(const WgTraceRow&) const = default;
};

// The order rows have in a file: by rank, start, workgroup, task; of version 2 by rank and workgroup, and those of a
// workgroup as it did them.
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
inline constexpr std::size_t wg_trace_columns = 16;  // of all versions
std::string_view name_of(WgTraceColumn column);
std::span<const WgTraceColumn> wg_trace_columns_of(int version);  // in file order
std::string wg_trace_header_row(int version);

// As rows write them.
std::string_view name_of(WgTraceRow::Kind kind);
std::string_view name_of(WgTraceRow::Unit unit);
std::span<const WgTraceRow::Kind> wg_trace_kinds_of(int version);
inline constexpr std::size_t wg_trace_units = 4;

inline constexpr std::string_view wg_trace_magic = "# moire-wgtrace";
inline constexpr int wg_trace_version = 2;  // the latest

// Limits of the format. They keep a wrong file from asking for memory that no right one needs.
inline constexpr std::int64_t wg_trace_most_ranks = 1 << 20;
inline constexpr std::int64_t wg_trace_most_wgs = 1 << 20;  // resident workgroups of one GPU; hardware has thousands
inline constexpr std::int64_t wg_trace_most_cus = 1 << 20;
inline constexpr std::int64_t wg_trace_latest_ns =
    std::numeric_limits<std::int64_t>::max() / 1000;                        // 106 days, see Time
inline constexpr std::int64_t wg_trace_most_bytes = std::int64_t{1} << 53;  // exact as a double, see Bytes and Flop
inline constexpr std::int64_t wg_trace_most_flags = 1 << 20;                // of a rank
inline constexpr std::size_t wg_trace_longest_line = 4096;
inline constexpr std::size_t wg_trace_most_metadata = 1000;

}  // namespace moire::program
