#include "app/timeline/tracks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/invariant.hpp"

namespace moire::timeline {

namespace {

// Returns the entry of a map. If there is none, `make` creates it.
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
          static_cast<std::int32_t>(rank))),
      sections_(layout.sections.size() + 3, root) {}

const part::TimelineSection& GpuTracks::declared(program::SpanKind spans) const {
  const auto found = std::find_if(layout_.sections.begin(), layout_.sections.end(),
                                  [spans](const part::TimelineSection& section) { return section.spans == spans; });
  MOIRE_INVARIANT(found != layout_.sections.end(), "a span of a kind that no part declares");
  return *found;
}

TrackId GpuTracks::section(std::size_t place, std::string_view name) {
  if (sections_[place] == root) sections_[place] = writer_.track(process_, name, static_cast<std::int32_t>(place));
  return sections_[place];
}

TrackId GpuTracks::section(const part::TimelineSection& of) {
  return section(1 + static_cast<std::size_t>(&of - layout_.sections.data()), of.name);
}

LanedTrack GpuTracks::unit(const part::TimelineSection& of, TrackId parent, std::uint32_t number) {
  return {writer_, parent, fmt::format("{} {}", of.unit, number), static_cast<std::int32_t>(number)};
}

LanedTrack& GpuTracks::queue(std::uint32_t number) {
  return find_or_make(queues_, number, [&] {
    const bool named = number < program_.queues.size() && !program_.queues[number].name.empty();
    return LanedTrack(writer_, section(0, "queues"),
                      named ? program_.queues[number].name : fmt::format("queue {}", number),
                      static_cast<std::int32_t>(number));
  });
}

LanedTrack& GpuTracks::workgroups(std::uint32_t cu) {
  return find_or_make(cus_, cu, [&] {
    const part::TimelineSection& cus = declared(program::SpanKind::workgroup);
    TrackId parent = section(cus);
    if (cu == program::no_cu) return LanedTrack(writer_, parent, fmt::format("no {} yet", cus.unit), -1);
    if (cu < layout_.cu_groups.size()) {
      const std::string& group = layout_.cu_groups[cu];
      const auto first = std::find(layout_.cu_groups.begin(), layout_.cu_groups.end(), group);
      const auto order = static_cast<std::int32_t>(first - layout_.cu_groups.begin());
      parent = find_or_make(cu_groups_, group, [&] { return writer_.track(parent, group, order); });
    }
    return unit(cus, parent, cu);
  });
}

LanedTrack& GpuTracks::copies(std::uint32_t engine) {
  return find_or_make(engines_, engine, [&] {
    const part::TimelineSection& engines = declared(program::SpanKind::copy);
    return unit(engines, section(engines), engine);
  });
}

LanedTrack& GpuTracks::puts(std::string_view path, program::Rank peer) {
  const auto section_of_puts = [&]() -> const part::TimelineSection& { return declared(program::SpanKind::put); };
  Path& puts = find_or_make(puts_, path, [&] { return Path{writer_.track(section(section_of_puts()), path), {}}; });
  return find_or_make(puts.peers, peer, [&] { return unit(section_of_puts(), puts.track, peer); });
}

TrackId GpuTracks::flags(std::string_view array) {
  return find_or_make(flags_, array, [&] { return writer_.track(section(sections_.size() - 2, "flags"), array); });
}

TrackId GpuTracks::load(std::string_view capacity, double rate) {
  return find_or_make(loads_, capacity, [&] {
    return writer_.counter(section(sections_.size() - 1, "load"), capacity, "%",
                           fmt::format("100 % is {:.6g} units per second (bytes for links and memories)", rate));
  });
}

}  // namespace moire::timeline
