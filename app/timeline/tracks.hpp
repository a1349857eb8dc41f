// The tracks of a timeline, which are created on first use. Each GPU is a process of the trace. Its tracks are grouped
// into sections: queues, the sections that hardware parts declare, flags, and loads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/timeline/lanes.hpp"
#include "app/timeline/packet_writer.hpp"
#include "models/hardware/part/declaration.hpp"
#include "sim/program/observer.hpp"

namespace moire::timeline {

// The facts about the hardware that names of tracks contain.
struct Layout {
  std::uint32_t gpus_per_node = 1;
  std::vector<part::TimelineSection> sections{};  // declared by the parts, in order of display
  // The group of each CU, such as "GPC 2" or "XCD 0"; empty if CUs have no groups.
  std::vector<std::string> cu_groups{};
};

// A track for spans that may overlap. It consists of lanes with the same name and parent, which viewers show as one
// track.
class LanedTrack {
 public:
  LanedTrack(PacketWriter& writer, TrackId parent, std::string name, std::int32_t order)
      : writer_(writer), parent_(parent), name_(std::move(name)), order_(order) {}
  TrackId place(Time begin, Time end, std::uint64_t owner = 0);

 private:
  PacketWriter& writer_;
  TrackId parent_;
  std::string name_;
  std::int32_t order_;
  Lanes lanes_;
  std::vector<TrackId> tracks_;  // by lane
};

// The tracks of one GPU.
class GpuTracks {
 public:
  GpuTracks(PacketWriter& writer, const program::Program& program, const Layout& layout, program::Rank rank);

  LanedTrack& queue(std::uint32_t number);
  LanedTrack& workgroups(std::uint32_t cu);
  LanedTrack& copies(std::uint32_t engine);
  LanedTrack& puts(std::string_view path, program::Rank peer);
  TrackId flags(std::string_view array);
  TrackId load(std::string_view capacity, double rate);

 private:
  const part::TimelineSection& declared(program::SpanKind spans) const;
  // Returns the track of a section, and creates it on first use. `place` is its position on the screen: queues come
  // first, then the sections of the hardware parts, then flags, then loads.
  TrackId section(std::size_t place, std::string_view name);
  TrackId section(const part::TimelineSection& of);
  LanedTrack unit(const part::TimelineSection& of, TrackId parent, std::uint32_t number);

  PacketWriter& writer_;
  const program::Program& program_;
  const Layout& layout_;
  TrackId process_;
  std::vector<TrackId> sections_;
  std::map<std::uint32_t, LanedTrack> queues_;
  std::map<std::uint32_t, LanedTrack> cus_;
  std::map<std::string, TrackId, std::less<>> cu_groups_;
  std::map<std::uint32_t, LanedTrack> engines_;
  struct Path {
    TrackId track;
    std::map<program::Rank, LanedTrack> peers;
  };
  std::map<std::string, Path, std::less<>> puts_;
  std::map<std::string, TrackId, std::less<>> flags_;
  std::map<std::string, TrackId, std::less<>> loads_;
};

}  // namespace moire::timeline
