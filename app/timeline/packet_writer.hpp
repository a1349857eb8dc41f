// Writes a stream of Perfetto packets: tracks, events, and interned texts.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>

#include "perfetto_trace.pb.h"
#include "sim/core/quantity.hpp"

namespace moire::timeline {

using TrackId = std::uint64_t;
inline constexpr TrackId root = 0;

// Numbers the texts of one kind, so that packets can refer to a text by its number. At most `most` texts get a number;
// packets contain any further text itself.
class InternedTexts {
 public:
  static constexpr std::size_t most = 65536;

  // Returns the number of a text; 0 if `most` other texts have one. Sets `fresh` if the packet must define the number.
  std::uint64_t number(std::string_view text, bool& fresh);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> numbers_;
};

// Writes packets in the order of the calls. Events of one track must come in the order of time. Perfetto does not
// require this across tracks.
class PacketWriter {
 public:
  explicit PacketWriter(std::ostream& out);

  // Viewers sort the tracks of one parent by `order`, then by creation.
  TrackId process(std::string_view name, std::int32_t order);
  TrackId track(TrackId parent, std::string_view name, std::int32_t order = 0);
  TrackId counter(TrackId parent, std::string_view name, std::string_view unit, std::string_view description);

  // An event is written as begin_event(), its attributes, end_event().
  void begin_event(TrackId track, perfetto::TrackEvent::Type type, Time at);
  void name(std::string_view text);
  void category(std::string_view text);
  void annotate(std::string_view key, std::string_view value);
  void annotate(std::string_view key, std::int64_t value);
  void value(double value);
  void starts_flow(std::uint64_t flow);
  void ends_flow(std::uint64_t flow);
  void end_event();

  // True if all bytes reached the stream.
  bool flush();

 private:
  perfetto::TrackDescriptor& begin_track(TrackId parent, std::string_view name, std::int32_t order);
  perfetto::DebugAnnotation& annotation(std::string_view key);
  std::uint64_t interned(InternedTexts& texts, std::string_view text,
                         perfetto::InternedText* (perfetto::InternedData::*add)());
  void send();

  std::ostream& out_;
  std::string waiting_;  // packets that are not in the stream yet
  std::string bytes_;
  perfetto::TracePacket packet_;
  InternedTexts names_;
  InternedTexts categories_;
  InternedTexts keys_;
  InternedTexts values_;
  TrackId tracks_ = root;
  bool first_ = true;
};

}  // namespace moire::timeline
