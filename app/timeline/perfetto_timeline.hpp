// Writes a timeline of a replay for ui.perfetto.dev. docs/how-to/read-a-timeline.md explains the tracks.
//
// A span is the interval of an operation, a copy, a put, or a step of a workgroup. It is written as soon as it is over
// and is not kept. Memory is needed for each track and lane, and for each of the first 65,536 different texts of a kind
// (names, categories, keys and values of annotations).
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string_view>
#include <vector>

#include "app/timeline/packet_writer.hpp"
#include "app/timeline/tracks.hpp"
#include "sim/program/observer.hpp"

namespace moire::timeline {

struct Options {
  // After this many spans (of workgroups, operations, copies and puts together), spans of workgroups are left out; all
  // other spans are still written. A span of a workgroup takes about 60 bytes.
  std::uint64_t max_events = 2'000'000;
};

// Numbers of spans and samples that were written.
struct Totals {
  std::uint64_t workgroups = 0;
  std::uint64_t operations = 0;
  std::uint64_t copies = 0;
  std::uint64_t puts = 0;
  std::uint64_t loads = 0;                // samples of counters
  std::uint64_t workgroups_left_out = 0;  // not included in `workgroups`

  std::uint64_t spans() const { return workgroups + operations + copies + puts; }
};

class PerfettoTimeline final : public program::Observer {
 public:
  // `out` and `program` must outlive the timeline.
  PerfettoTimeline(std::ostream& out, const program::Program& program, Layout layout = {}, Options options = {});
  PerfettoTimeline(const PerfettoTimeline&) = delete;  // the tracks refer to members of the timeline
  PerfettoTimeline& operator=(const PerfettoTimeline&) = delete;

  void operation(const program::OperationSpan& span) override;
  void workgroup(const program::WorkgroupSpan& span) override;
  void put(const program::PutSpan& span) override;
  void copy(const program::CopySpan& span) override;
  void load(std::string_view capacity, program::Rank rank, Time now, double units_per_second, double rate) override;

  // Completes the timeline. Call it after the run, even after a deadlock. Returns false if the stream did not take all
  // bytes.
  bool finish();

  const Totals& totals() const { return totals_; }

 private:
  GpuTracks& gpu(program::Rank rank);
  void begin_slice(TrackId track, std::string_view category, std::string_view name, Time begin, Time end);
  void end_slice(TrackId track, Time end);
  void note(Time at, std::string_view text);

  const program::Program& program_;
  Layout layout_;
  Options options_;
  PacketWriter writer_;
  std::vector<std::unique_ptr<GpuTracks>> gpus_;  // by rank, created on first use
  Totals totals_;
  TrackId notes_ = root;
  Time last_left_out_;
  std::uint64_t flows_ = 0;
};

}  // namespace moire::timeline
