#include "app/timeline/perfetto_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace moire::timeline {

namespace {

using perfetto::TrackEvent;
using program::Rank;
using program::WaitReason;

// The names that a timeline shows for a flag and for its array of flags.
struct FlagName {
  std::string flag = "arrival";    // "slice_ready[1]"
  std::string array = "arrivals";  // "slice_ready"
};
FlagName name_of(const program::Program& program, program::FlagRef flag) {
  if (flag == program::no_flag) return {};
  const program::FlagPlace place = program.place_of(flag);
  const std::string& array = program.array(place.array).name;
  return {fmt::format("{}[{}]", array, place.index), array};
}

// Returns the name of a span in which a workgroup waits, such as "wait flag slice_ready[1]" or "wait cu slot".
std::string name_of_wait(const program::Program& program, const program::WorkgroupSpan& span) {
  const char* reason = program::to_string(span.reason);
  if (span.flag == program::no_flag) return fmt::format("wait {}", reason);
  return fmt::format("wait {} {}", reason, name_of(program, span.flag).flag);
}

}  // namespace

PerfettoTimeline::PerfettoTimeline(std::ostream& out, const program::Program& program, Layout layout, Options options)
    : program_(program), layout_(std::move(layout)), options_(options), writer_(out), gpus_(program.ranks()) {
  layout_.gpus_per_node = std::max(layout_.gpus_per_node, 1u);
}

GpuTracks& PerfettoTimeline::gpu(Rank rank) {
  auto& tracks = gpus_.at(rank);
  if (!tracks) tracks = std::make_unique<GpuTracks>(writer_, program_, layout_, rank);
  return *tracks;
}

// Begins the slice of a span. The caller may then add annotations, and must call end_slice().
void PerfettoTimeline::begin_slice(TrackId track, std::string_view category, std::string_view name, Time begin,
                                   Time end) {
  writer_.begin_event(track, TrackEvent::SLICE_BEGIN, begin);
  writer_.category(category);
  writer_.name(name);
  // The times of a slice are rounded to 1 ns. Below 1 us, this may change its duration by more than 0.1 %, so the exact
  // duration is an annotation.
  if (end - begin < Time::from_us(1)) writer_.annotate("duration_ps", (end - begin).ps);
}

void PerfettoTimeline::end_slice(TrackId track, Time end) {
  writer_.end_event();
  writer_.begin_event(track, TrackEvent::SLICE_END, end);
  writer_.end_event();
}

void PerfettoTimeline::note(Time at, std::string_view text) {
  if (notes_ == root) notes_ = writer_.track(root, "Moire");
  writer_.begin_event(notes_, TrackEvent::INSTANT, at);
  writer_.category("note");
  writer_.name(text);
  writer_.end_event();
}

void PerfettoTimeline::operation(const program::OperationSpan& span) {
  ++totals_.operations;
  const TrackId track = gpu(span.rank).queue(span.queue).place(span.begin, span.end);
  if (span.reason == WaitReason::cu_slot) {
    begin_slice(track, "wait", fmt::format("wait {}", program::to_string(span.reason)), span.begin, span.end);
    writer_.annotate("kernel", span.name);
  } else {
    begin_slice(track, span.reason == WaitReason::none ? "operation" : "wait", span.name, span.begin, span.end);
  }
  end_slice(track, span.end);
}

void PerfettoTimeline::workgroup(const program::WorkgroupSpan& span) {
  if (totals_.workgroups_left_out > 0 || totals_.spans() >= options_.max_events) {
    if (totals_.workgroups_left_out++ == 0) {
      note(span.end, fmt::format("workgroup spans end here: cap of {} spans reached", options_.max_events));
    }
    last_left_out_ = std::max(last_left_out_, span.end);
    return;
  }
  ++totals_.workgroups;
  // A workgroup may have several strands: sequences of steps that run concurrently. `owner` identifies a strand among
  // those that are resident at the same time.
  const std::uint64_t owner = (std::uint64_t{span.queue} << 48) ^ (std::uint64_t{span.strand} << 40) ^
                              static_cast<std::uint64_t>(span.workgroup);
  const TrackId track = gpu(span.rank).workgroups(span.cu).place(span.begin, span.end, owner);
  if (span.reason == WaitReason::none) {
    begin_slice(track, "workgroup", span.phase, span.begin, span.end);
  } else {
    begin_slice(track, "wait", name_of_wait(program_, span), span.begin, span.end);
    if (span.phase != "wait") writer_.annotate("phase", span.phase);
  }
  writer_.annotate("kernel", span.kernel);
  writer_.annotate("workgroup", span.workgroup);
  if (span.strand > 0) writer_.annotate("strand", std::int64_t{span.strand});
  end_slice(track, span.end);
}

void PerfettoTimeline::put(const program::PutSpan& span) {
  ++totals_.puts;
  ++flows_;
  const FlagName flag = name_of(program_, span.flag);
  const TrackId track = gpu(span.source).puts(span.path, span.destination).place(span.begin, span.end);
  begin_slice(track, "put", fmt::format("{} {}", span.bytes.value > 0 ? "put" : "signal", flag.array), span.begin,
              span.end);
  writer_.annotate("flag", flag.flag);
  writer_.annotate("bytes", static_cast<std::int64_t>(span.bytes.value));
  if (span.cu != program::no_cu) writer_.annotate("cu", std::int64_t{span.cu});
  writer_.starts_flow(flows_);
  end_slice(track, span.end);

  const TrackId arrivals = gpu(span.destination).flags(flag.array);
  writer_.begin_event(arrivals, TrackEvent::INSTANT, span.end);
  writer_.category("flag");
  writer_.name(flag.flag);
  writer_.annotate("from_rank", std::int64_t{span.source});
  writer_.ends_flow(flows_);
  writer_.end_event();
}

void PerfettoTimeline::copy(const program::CopySpan& span) {
  ++totals_.copies;
  const TrackId track = gpu(span.rank).copies(span.engine).place(span.begin, span.end);
  begin_slice(track, "copy", span.name, span.begin, span.end);
  writer_.annotate("to_rank", std::int64_t{span.peer});
  writer_.annotate("bytes", static_cast<std::int64_t>(span.bytes.value));
  end_slice(track, span.end);
}

void PerfettoTimeline::load(std::string_view capacity, Rank rank, Time now, double units_per_second, double rate) {
  ++totals_.loads;
  writer_.begin_event(gpu(rank).load(capacity, rate), TrackEvent::COUNTER, now);
  writer_.value(rate > 0 ? 100 * units_per_second / rate : 0);
  writer_.end_event();
}

bool PerfettoTimeline::finish() {
  if (totals_.workgroups_left_out > 0) {
    note(last_left_out_, fmt::format("{} workgroup spans are left out up to here", totals_.workgroups_left_out));
  }
  return writer_.flush();
}

}  // namespace moire::timeline
