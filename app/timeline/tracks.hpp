// The tracks of a timeline, made when something first happens on them: a process for each GPU, with queues, CUs, DMA
// engines, puts, flags and loads below it.
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
#include "sim/program/observer.hpp"

namespace moire::timeline {

// How the hardware is named.
struct Layout {
  std::uint32_t gpus_per_node = 1;
  // The group of each CU, such as "GPC 2" or "XCD 0"; empty when CUs are not grouped.
  std::vector<std::string> cu_groups;
};

// One line on the screen: lanes of the same name and parent, which viewers show as one track.
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

class GpuTracks {
 public:
  GpuTracks(PacketWriter& writer, const program::Program& program, const Layout& layout, program::Rank rank);

  LanedTrack& queue(std::uint32_t number);
  LanedTrack& cu(std::uint32_t number);
  LanedTrack& engine(std::uint32_t number);
  LanedTrack& puts(std::string_view path, program::Rank peer);
  TrackId flags(std::string_view array);
  TrackId load(std::string_view capacity, double rate);

 private:
  // In the order they are shown.
  enum Section { queues, cus, engines, put_paths, flag_arrays, loads, sections };
  TrackId section(Section which);

  PacketWriter& writer_;
  const program::Program& program_;
  const Layout& layout_;
  TrackId process_;
  TrackId sections_[sections] = {};
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
