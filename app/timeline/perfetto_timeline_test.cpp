#include "app/timeline/perfetto_timeline.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

namespace moire::timeline {
namespace {

using perfetto::TracePacket;
using perfetto::TrackEvent;
using program::no_cu;
using program::no_flag;
using program::WaitReason;
using program::WorkgroupSpan;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The sections that hardware parts declare.
const std::vector<part::TimelineSection> sections = {{program::SpanKind::workgroup, "CUs", "CU"},
                                                     {program::SpanKind::copy, "DMA engines", "DMA"},
                                                     {program::SpanKind::put, "puts", "to rank"}};

struct Event {
  std::uint64_t track;
  TrackEvent::Type type;
  std::uint64_t at;
  std::string name;
  std::string category;
  std::map<std::string, std::string> annotations;
  std::vector<std::uint64_t> starts;
  std::vector<std::uint64_t> ends;
  double value;
};
struct Slice {
  std::string name;
  std::string category;
  std::uint64_t begin;
  std::uint64_t end;
};
void PrintTo(const Slice& slice, std::ostream* out) {
  *out << slice.category << " " << slice.name << " " << slice.begin << " to " << slice.end;
}

// Parses the bytes as a viewer does and checks the rules that every timeline obeys.
class Reading {
 public:
  explicit Reading(const std::string& bytes) {
    perfetto::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(bytes));
    packets = trace.packet_size();
    for (int i = 0; i < trace.packet_size(); ++i) packet(trace.packet(i), i == 0);
    EXPECT_EQ(flow_starts, flow_ends);
    for (const auto& [track, slice] : open) ADD_FAILURE() << "slice " << slice.name << " never ends";
  }

  // Returns the names of a track and its parents, such as "rank 0 (node 0 GPU 0) / queues / compute".
  std::string path(std::uint64_t track) const {
    const perfetto::TrackDescriptor& t = tracks.at(track);
    return t.has_parent_uuid() ? path(t.parent_uuid()) + " / " + t.name() : t.name();
  }
  std::vector<Slice> slices_on(const std::string& path_of_track) const {
    std::vector<Slice> out;
    for (const auto& [track, list] : slices) {
      if (path(track) == path_of_track) out.insert(out.end(), list.begin(), list.end());
    }
    return out;
  }
  std::size_t lanes_of(const std::string& path_of_track) const {
    std::size_t lanes = 0;
    for (const auto& [track, descriptor] : tracks) lanes += path(track) == path_of_track ? 1 : 0;
    return lanes;
  }
  const Event* find(const std::string& name) const {
    for (const Event& event : events) {
      if (event.name == name) return &event;
    }
    return nullptr;
  }

  int packets = 0;
  std::map<std::uint64_t, perfetto::TrackDescriptor> tracks;
  std::vector<Event> events;
  std::map<std::uint64_t, std::vector<Slice>> slices;
  std::set<std::uint64_t> flow_starts, flow_ends;

 private:
  using Texts = std::map<std::uint64_t, std::string>;

  template <class List>
  static void intern(const List& list, Texts& texts) {
    for (const auto& entry : list)
      EXPECT_TRUE(texts.emplace(entry.iid(), entry.text()).second) << "a number is defined twice";
  }

  void packet(const TracePacket& p, bool first) {
    EXPECT_EQ(p.trusted_packet_sequence_id(), 1u);
    EXPECT_EQ(p.sequence_flags(),
              first ? TracePacket::INCREMENTAL_STATE_CLEARED : TracePacket::NEEDS_INCREMENTAL_STATE);
    if (p.has_track_descriptor()) {
      const auto& track = p.track_descriptor();
      EXPECT_TRUE(tracks.emplace(track.uuid(), track).second) << "a uuid is used twice";
      EXPECT_TRUE(!track.has_parent_uuid() || tracks.contains(track.parent_uuid())) << "the parent is not defined yet";
      EXPECT_FALSE(p.has_track_event());
      return;
    }
    intern(p.interned_data().event_names(), names);
    intern(p.interned_data().event_categories(), categories);
    intern(p.interned_data().debug_annotation_names(), keys);
    intern(p.interned_data().debug_annotation_string_values(), values);
    ASSERT_TRUE(p.has_track_event() && p.has_timestamp());
    const TrackEvent& e = p.track_event();
    ASSERT_TRUE(tracks.contains(e.track_uuid())) << "an event comes before its track is defined";
    Event event{e.track_uuid(),          e.type(), p.timestamp(), e.has_name() ? e.name() : "", "", {}, {}, {},
                e.double_counter_value()};
    if (e.has_name_iid()) event.name = names.at(e.name_iid());
    for (const std::uint64_t iid : e.category_iids()) event.category = categories.at(iid);
    for (const auto& a : e.debug_annotations()) {
      event.annotations[keys.at(a.name_iid())] = a.has_string_value_iid() ? values.at(a.string_value_iid())
                                                 : a.has_string_value()   ? a.string_value()
                                                                          : std::to_string(a.int_value());
    }
    for (const std::uint64_t flow : e.flow_ids()) EXPECT_TRUE(flow_starts.insert(flow).second);
    for (const std::uint64_t flow : e.terminating_flow_ids()) {
      EXPECT_TRUE(flow_starts.contains(flow));
      EXPECT_TRUE(flow_ends.insert(flow).second);
    }
    EXPECT_GE(event.at, last[event.track]) << "events of a track are in order";
    last[event.track] = event.at;
    EXPECT_EQ(tracks.at(event.track).has_counter(), e.type() == TrackEvent::COUNTER);
    if (e.type() == TrackEvent::SLICE_BEGIN) {
      EXPECT_TRUE(open.emplace(event.track, Slice{event.name, event.category, event.at, 0}).second) << "slices overlap";
    } else if (e.type() == TrackEvent::SLICE_END) {
      ASSERT_TRUE(open.contains(event.track)) << "a slice ends that has not begun";
      Slice slice = open.extract(event.track).mapped();
      slice.end = event.at;
      slices[event.track].push_back(slice);
    }
    events.push_back(std::move(event));
  }

  Texts names, categories, keys, values;
  std::map<std::uint64_t, std::uint64_t> last;
  std::map<std::uint64_t, Slice> open;
};

MATCHER_P4(IsSlice, name, category, begin, end, "") {
  return arg.name == name && arg.category == category && arg.begin == static_cast<std::uint64_t>(begin) &&
         arg.end == static_cast<std::uint64_t>(end);
}

Time us(double value) { return Time::from_us(value); }

program::Program two_queues(program::Rank ranks) {
  program::Program program(ranks);
  program.queues.resize(2);
  program.queues[0].name = "compute";
  program.queues[1].name = "comm";
  program.add_flags({"slice_ready", 2, {}});
  program.add_flags({"done", 1, {}});
  return program;
}

class PerfettoTimelineTest : public ::testing::Test {
 protected:
  Reading read() {
    EXPECT_TRUE(timeline.finish());
    return Reading(out.str());
  }

  program::FlagRef slice_ready(program::Rank rank, std::uint32_t index) const { return rank * 2 + index; }
  program::FlagRef done(program::Rank rank) const { return program.ranks() * 2 + rank; }

  const program::Program program = two_queues(16);
  std::ostringstream out;
  PerfettoTimeline timeline{out, program, {8, sections, {"GPC 0", "GPC 0", "GPC 1", "GPC 1"}}, {.max_events = 1000}};
};

TEST_F(PerfettoTimelineTest, OperationsAreOnTheirQueue) {
  timeline.operation({11, 1, "all_to_all", WaitReason::none, us(1), us(5)});
  timeline.operation({11, 1, "embedding", WaitReason::none, us(5), us(9)});
  timeline.operation({11, 0, "gemm", WaitReason::none, us(0), us(10)});
  const Reading reading = read();
  const std::string gpu = "rank 11 (node 1 GPU 3)";
  EXPECT_THAT(reading.slices_on(gpu + " / queues / comm"), ElementsAre(IsSlice("all_to_all", "operation", 1000, 5000),
                                                                       IsSlice("embedding", "operation", 5000, 9000)));
  EXPECT_THAT(reading.slices_on(gpu + " / queues / compute"), ElementsAre(IsSlice("gemm", "operation", 0, 10000)));
  EXPECT_EQ(timeline.totals().operations, 3u);
}

TEST_F(PerfettoTimelineTest, AQueueThatWaitsSaysSo) {
  timeline.operation({0, 0, "wait for the embedding", WaitReason::flag, us(1), us(5)});
  EXPECT_THAT(read().slices_on("rank 0 (node 0 GPU 0) / queues / compute"),
              ElementsAre(IsSlice("wait for the embedding", "wait", 1000, 5000)));
}

TEST_F(PerfettoTimelineTest, GpusAreProcessesInTheOrderOfTheirRank) {
  timeline.operation({9, 0, "gemm", WaitReason::none, us(0), us(1)});
  timeline.operation({2, 0, "gemm", WaitReason::none, us(0), us(2)});
  const Reading reading = read();
  EXPECT_EQ(reading.tracks.at(root).process_ordering(), perfetto::TrackDescriptor::PROCESS_ORDERING_EXPLICIT);
  std::map<int, std::string> processes;
  for (const auto& [uuid, track] : reading.tracks) {
    if (track.has_process()) processes[track.sibling_order_rank()] = track.process().process_name();
  }
  EXPECT_THAT(processes, ElementsAre(Pair(2, "rank 2 (node 0 GPU 2)"), Pair(9, "rank 9 (node 1 GPU 1)")));
}

TEST_F(PerfettoTimelineTest, WorkgroupsOfOneCuShareItInLanes) {
  timeline.workgroup({0, 0, 2, "gemm", 7, "main loop", WaitReason::none, no_flag, us(0), us(4)});
  timeline.workgroup({0, 0, 2, "gemm", 8, "main loop", WaitReason::none, no_flag, us(1), us(6)});
  timeline.workgroup({0, 0, 2, "gemm", 7, "epilogue", WaitReason::none, no_flag, us(4), us(7)});
  timeline.workgroup({0, 0, 40, "gemm", 9, "main loop", WaitReason::none, no_flag, us(1), us(8)});
  const Reading reading = read();
  const std::string cu = "rank 0 (node 0 GPU 0) / CUs / GPC 1 / CU 2";
  EXPECT_EQ(reading.slices_on(cu).size(), 3u);
  EXPECT_EQ(reading.lanes_of(cu), 2u);
  EXPECT_EQ(reading.slices_on("rank 0 (node 0 GPU 0) / CUs / CU 40").size(), 1u) << "CU 40 is in no group";
  const Event* epilogue = reading.find("epilogue");
  ASSERT_TRUE(epilogue);
  EXPECT_THAT(epilogue->annotations, UnorderedElementsAre(Pair("kernel", "gemm"), Pair("workgroup", "7")));
  EXPECT_EQ(epilogue->track, reading.find("main loop")->track) << "a workgroup continues in its lane";
}

TEST_F(PerfettoTimelineTest, WaitsSayWhatFor) {
  timeline.workgroup({0, 0, 0, "k", 1, "wait", WaitReason::flag, slice_ready(0, 1), us(0), us(4)});
  timeline.workgroup({0, 0, 0, "k", 1, "wait", WaitReason::flag, no_flag, us(4), us(5)});
  timeline.workgroup({0, 0, no_cu, "k", 2, "main loop", WaitReason::cu_slot, no_flag, us(0), us(6)});
  const Reading reading = read();
  const std::string gpu = "rank 0 (node 0 GPU 0)";
  EXPECT_THAT(
      reading.slices_on(gpu + " / CUs / GPC 0 / CU 0"),
      ElementsAre(IsSlice("wait flag slice_ready[1]", "wait", 0, 4000), IsSlice("wait flag", "wait", 4000, 5000)));
  EXPECT_THAT(reading.slices_on(gpu + " / CUs / no CU yet"), ElementsAre(IsSlice("wait cu slot", "wait", 0, 6000)));
  EXPECT_THAT(reading.find("wait cu slot")->annotations, Contains(Pair("phase", "main loop")));
}

TEST_F(PerfettoTimelineTest, APutPointsToItsArrival) {
  timeline.put({0, 9, 3, Bytes{65536}, slice_ready(9, 1), "NIC 0", us(1), us(8)});
  timeline.put({9, 0, no_cu, Bytes{0}, done(0), "scale-up", us(2), us(3)});
  timeline.put({9, 0, no_cu, Bytes{8}, no_flag, "scale-up", us(2), us(3)});
  const Reading reading = read();
  EXPECT_EQ(reading.flow_starts.size(), 3u);
  const Event* put = reading.find("put slice_ready");
  const Event* arrival = reading.find("slice_ready[1]");
  ASSERT_TRUE(put && arrival);
  EXPECT_EQ(reading.path(put->track), "rank 0 (node 0 GPU 0) / puts / NIC 0 / to rank 9");
  EXPECT_EQ(reading.path(arrival->track), "rank 9 (node 1 GPU 1) / flags / slice_ready");
  EXPECT_EQ(put->starts, arrival->ends);
  EXPECT_EQ(put->at, 1000u);
  EXPECT_EQ(arrival->at, 8000u);
  EXPECT_THAT(put->annotations,
              UnorderedElementsAre(Pair("flag", "slice_ready[1]"), Pair("bytes", "65536"), Pair("cu", "3")));
  const Event* signal = reading.find("signal done");
  ASSERT_TRUE(signal);
  EXPECT_THAT(signal->annotations, ::testing::Not(Contains(Pair("cu", ::testing::_))));
  EXPECT_TRUE(reading.find("arrival"));
}

TEST_F(PerfettoTimelineTest, CopiesAreOnTheirEngine) {
  timeline.copy({1, 0, 2, Bytes{4096}, "shard", us(0), us(3)});
  timeline.copy({1, 1, 3, Bytes{8192}, "shard", us(0), us(4)});
  const Reading reading = read();
  EXPECT_THAT(reading.slices_on("rank 1 (node 0 GPU 1) / DMA engines / DMA 1"),
              ElementsAre(IsSlice("shard", "copy", 0, 4000)));
  EXPECT_THAT(reading.find("shard")->annotations, ElementsAre(Pair("bytes", "4096"), Pair("to_rank", "2")));
}

TEST_F(PerfettoTimelineTest, LoadsAreSharesOfTheirCapacity) {
  timeline.load("nvlink out", 3, us(1), 225e9, 450e9);
  timeline.load("nvlink out", 3, us(2), 0, 450e9);
  timeline.load("broken link", 3, us(2), 0, 0);
  const Reading reading = read();
  std::vector<std::pair<std::uint64_t, double>> samples;
  for (const Event& event : reading.events) {
    if (reading.path(event.track) == "rank 3 (node 0 GPU 3) / load / nvlink out")
      samples.emplace_back(event.at, event.value);
  }
  EXPECT_THAT(samples, ElementsAre(Pair(1000u, 50.0), Pair(2000u, 0.0)));
}

TEST_F(PerfettoTimelineTest, ShortSlicesKeepTheirPicoseconds) {
  timeline.operation({0, 0, "short", WaitReason::none, Time{1600}, Time{2300}});
  timeline.operation({0, 0, "next", WaitReason::none, Time{2300}, Time{2400}});
  const Reading reading = read();
  EXPECT_THAT(reading.slices_on("rank 0 (node 0 GPU 0) / queues / compute"),
              ElementsAre(IsSlice("short", "operation", 1, 2), IsSlice("next", "operation", 2, 2)));
  EXPECT_THAT(reading.find("short")->annotations, ElementsAre(Pair("duration_ps", "700")));
}

TEST_F(PerfettoTimelineTest, PastTheCapOnlyWorkgroupsAreLeftOut) {
  const WorkgroupSpan span{0, 0, 0, "k", 1, "main loop", WaitReason::none, no_flag, us(1), us(2)};
  for (int i = 0; i < 1200; ++i) timeline.workgroup(span);
  timeline.operation({0, 0, "gemm", WaitReason::none, us(0), us(3)});
  timeline.put({0, 1, 0, Bytes{8}, slice_ready(1, 0), "local", us(2), us(3)});
  timeline.workgroup(span);
  const Reading reading = read();
  EXPECT_EQ(timeline.totals().workgroups, 1000u);
  EXPECT_EQ(timeline.totals().workgroups_left_out, 201u);
  EXPECT_TRUE(reading.find("gemm"));
  EXPECT_TRUE(reading.find("put slice_ready"));
  const Event* note = reading.find("workgroup spans end here: cap of 1000 spans reached");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->at, 2000u);
  EXPECT_EQ(reading.path(note->track), "Moire");
  EXPECT_TRUE(reading.find("201 workgroup spans are left out up to here"));
}

// Returns the timeline of a random run, whose spans come in the order of their ends. The class Reading checks order and
// overlap of the slices, that every slice ends, and the flows.
std::string random_run(std::uint64_t cap) {
  const program::Program program = two_queues(4);
  std::ostringstream out;
  PerfettoTimeline timeline(out, program, {1, sections}, {cap});
  std::mt19937 random(42);
  std::int64_t now = 0;
  for (int i = 0; i < 5000; ++i) {
    now += static_cast<std::int64_t>(random() % 700);
    const Time begin{std::max<std::int64_t>(0, now - static_cast<std::int64_t>(random() % 20000))};
    const program::Rank rank = random() % 4;
    switch (random() % 5) {
      case 0:
        timeline.operation({rank, static_cast<std::uint32_t>(random() % 2), "op", WaitReason::none, begin, Time{now}});
        break;
      case 1:
        timeline.put({rank, static_cast<program::Rank>(random() % 4), 0, Bytes{8}, program::FlagRef{1}, "NIC 0", begin,
                      Time{now}});
        break;
      case 2:
        timeline.load("hbm", rank, Time{now}, static_cast<double>(random() % 100), 100);
        break;
      default:
        timeline.workgroup({rank, 0, static_cast<std::uint32_t>(random() % 8), "k",
                            static_cast<std::int64_t>(random() % 64), "loop", WaitReason::none, no_flag, begin,
                            Time{now}});
    }
  }
  EXPECT_TRUE(timeline.finish());
  const Totals& totals = timeline.totals();
  EXPECT_EQ(totals.spans() + totals.workgroups_left_out + totals.loads, 5000u);
  return out.str();
}

TEST(PerfettoTimeline, AnyRunMakesAWellFormedFile) {
  const Reading reading(random_run(1'000'000));
  std::size_t count = 0;
  for (const auto& [track, slices] : reading.slices) count += slices.size();
  EXPECT_GT(count, 3500u);
  const Reading capped(random_run(100));
  EXPECT_LT(capped.packets, reading.packets);
}

TEST(PerfettoTimeline, TheSameRunHasTheSameBytes) { EXPECT_EQ(random_run(2000), random_run(2000)); }

TEST(PerfettoTimeline, MoreTextsThanAreInternedAreWrittenOut) {
  const program::Program program = two_queues(1);
  std::ostringstream out;
  PerfettoTimeline timeline(out, program, {1, sections});
  for (int i = 0; i < 70000; ++i) {
    const std::string name = "op " + std::to_string(i);
    timeline.operation({0, 0, name, WaitReason::none, us(2 * i), us(2 * i + 1)});
  }
  EXPECT_TRUE(timeline.finish());
  const Reading reading(out.str());
  EXPECT_TRUE(reading.find("op 0"));
  EXPECT_TRUE(reading.find("op 69999"));
}

TEST(PerfettoTimeline, AStreamThatTakesNoBytesIsTold) {
  const program::Program program = two_queues(1);
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  PerfettoTimeline timeline(out, program, {1, sections});
  EXPECT_FALSE(timeline.finish());
}

}  // namespace
}  // namespace moire::timeline
