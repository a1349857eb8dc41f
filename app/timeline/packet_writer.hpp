// Writes Perfetto packets one after the other: tracks, events, and the texts they name by number.
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

// Texts of one kind and their numbers. Memory: `most` texts; those after them are written out where they occur.
class InternedTexts {
 public:
  static constexpr std::size_t most = 65536;

  // 0 when there is no more room; `fresh` when the number has to be told to the reader first.
  std::uint64_t number(std::string_view text, bool& fresh);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> numbers_;
};

// The file is not sorted by time, which Perfetto does not ask for; events of one track are.
class PacketWriter {
 public:
  explicit PacketWriter(std::ostream& out);

  // Siblings are shown by `order`, then in the order of their making.
  TrackId process(std::string_view name, std::int32_t order);
  TrackId track(TrackId parent, std::string_view name, std::int32_t order = 0);
  TrackId counter(TrackId parent, std::string_view name, std::string_view unit, std::string_view description);

  // One event: begin_event(), what describes it, end_event().
  void begin_event(TrackId track, perfetto::TrackEvent::Type type, Time at);
  void name(std::string_view text);
  void category(std::string_view text);
  void annotate(std::string_view key, std::string_view value);
  void annotate(std::string_view key, std::int64_t value);
  void value(double value);
  void starts_flow(std::uint64_t flow);
  void ends_flow(std::uint64_t flow);
  void end_event();

  // All bytes reached the stream.
  bool flush();

 private:
  perfetto::TrackDescriptor& begin_track(TrackId parent, std::string_view name, std::int32_t order);
  perfetto::DebugAnnotation& annotation(std::string_view key);
  std::uint64_t interned(InternedTexts& texts, std::string_view text,
                         perfetto::InternedText* (perfetto::InternedData::*add)());
  void send();

  std::ostream& out_;
  std::string waiting_;  // packets not yet given to the stream
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
