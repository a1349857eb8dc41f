// Writes a stream of Perfetto packets: tracks, events, and interned texts (texts that later packets refer to by
// number).
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
// packets contain the other texts themselves.
class InternedTexts {
 public:
  static constexpr std::size_t most = 65536;

  // Returns the number of a text, from 1; 0 if the text has none because `most` other texts have one. Sets `fresh` to
  // true if the number is new, so that the packet must define it, and otherwise to false.
  std::uint64_t number(std::string_view text, bool& fresh);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> numbers_;
};

// Writes packets in the order of the calls. The events of one track must be written in the order of their times. Events
// of different tracks may be written in any order.
class PacketWriter {
 public:
  explicit PacketWriter(std::ostream& out);

  // These functions create a track and return its id. Viewers sort the tracks of one parent by `order`, and tracks of
  // equal order by their creation.
  TrackId process(std::string_view name, std::int32_t order);
  TrackId track(TrackId parent, std::string_view name, std::int32_t order = 0);
  TrackId counter(TrackId parent, std::string_view name, std::string_view unit, std::string_view description);

  // An event takes several calls: begin_event(), then one for each of its attributes, then end_event().
  void begin_event(TrackId track, perfetto::TrackEvent::Type type, Time at);
  void name(std::string_view text);
  void category(std::string_view text);
  void annotate(std::string_view key, std::string_view value);
  void annotate(std::string_view key, std::int64_t value);
  void value(double value);
  void starts_flow(std::uint64_t flow);
  void ends_flow(std::uint64_t flow);
  void end_event();

  // Writes the waiting packets to the stream. Returns true if the stream has taken all bytes so far.
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
