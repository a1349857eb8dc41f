#include "app/timeline/tracks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::timeline {

namespace {

// The tracks of one kind, made by `make` when first asked for.
template <class Map, class Key, class Make>
typename Map::mapped_type& find_or_make(Map& map, const Key& key, Make make) {
  auto found = map.find(key);
  if (found == map.end()) found = map.emplace(typename Map::key_type(key), make()).first;
  return found->second;
}

}  // namespace

TrackId LanedTrack::place(Time begin, Time end, std::uint64_t owner) {
  const std::uint32_t lane = lanes_.place(begin, end, owner);
  if (lane == tracks_.size()) tracks_.push_back(writer_.track(parent_, name_, order_));
  return tracks_[lane];
}

GpuTracks::GpuTracks(PacketWriter& writer, const program::Program& program, const Layout& layout, program::Rank rank)
    : writer_(writer),
      program_(program),
      layout_(layout),
      process_(writer.process(
          fmt::format("rank {} (node {} GPU {})", rank, rank / layout.gpus_per_node, rank % layout.gpus_per_node),
          static_cast<std::int32_t>(rank))) {}

TrackId GpuTracks::section(Section which) {
  static constexpr const char* names[sections] = {"queues", "CUs", "DMA engines", "puts", "flags", "load"};
  if (sections_[which] == root) sections_[which] = writer_.track(process_, names[which], which);
  return sections_[which];
}

LanedTrack& GpuTracks::queue(std::uint32_t number) {
  return find_or_make(queues_, number, [&] {
    const bool named = number < program_.queues.size() && !program_.queues[number].name.empty();
    return LanedTrack(writer_, section(queues), named ? program_.queues[number].name : fmt::format("queue {}", number),
                      static_cast<std::int32_t>(number));
  });
}

LanedTrack& GpuTracks::cu(std::uint32_t number) {
  return find_or_make(cus_, number, [&] {
    if (number == program::no_cu) return LanedTrack(writer_, section(cus), "no CU yet", -1);
    TrackId parent = section(cus);
    if (number < layout_.cu_groups.size()) {
      const std::string& group = layout_.cu_groups[number];
      const auto first = std::find(layout_.cu_groups.begin(), layout_.cu_groups.end(), group);
      const auto order = static_cast<std::int32_t>(first - layout_.cu_groups.begin());
      parent = find_or_make(cu_groups_, group, [&] { return writer_.track(parent, group, order); });
    }
    return LanedTrack(writer_, parent, fmt::format("CU {}", number), static_cast<std::int32_t>(number));
  });
}

LanedTrack& GpuTracks::engine(std::uint32_t number) {
  return find_or_make(engines_, number, [&] {
    return LanedTrack(writer_, section(engines), fmt::format("DMA {}", number), static_cast<std::int32_t>(number));
  });
}

LanedTrack& GpuTracks::puts(std::string_view path, program::Rank peer) {
  Path& puts = find_or_make(puts_, path, [&] { return Path{writer_.track(section(put_paths), path), {}}; });
  return find_or_make(puts.peers, peer, [&] {
    return LanedTrack(writer_, puts.track, fmt::format("to rank {}", peer), static_cast<std::int32_t>(peer));
  });
}

TrackId GpuTracks::flags(std::string_view array) {
  return find_or_make(flags_, array, [&] { return writer_.track(section(flag_arrays), array); });
}

TrackId GpuTracks::load(std::string_view capacity, double rate) {
  return find_or_make(loads_, capacity, [&] {
    return writer_.counter(section(loads), capacity, "%",
                           fmt::format("100 % is {:.6g} units per second (bytes for links and memories)", rate));
  });
}

}  // namespace moire::timeline
