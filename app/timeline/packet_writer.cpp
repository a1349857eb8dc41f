#include "app/timeline/packet_writer.hpp"

namespace moire::timeline {

namespace {

constexpr std::size_t block_size = 256UL * 1024;

// Returns a time in Perfetto's unit, 1 ns. Rounding down keeps the order of times, so it makes no slices overlap.
std::uint64_t timestamp(Time at) { return static_cast<std::uint64_t>(at.ps) / 1000; }

void append_varint(std::string& to, std::size_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

}  // namespace

std::uint64_t InternedTexts::number(std::string_view text, bool& fresh) {
  fresh = false;
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  if (numbers_.size() == most) return 0;
  fresh = true;
  return numbers_.emplace(std::string(text), numbers_.size() + 1).first->second;
}

PacketWriter::PacketWriter(std::ostream& out) : out_(out) {
  perfetto::TrackDescriptor& track = *packet_.mutable_track_descriptor();
  track.set_uuid(root);
  track.set_process_ordering(perfetto::TrackDescriptor::PROCESS_ORDERING_EXPLICIT);
  send();
}

void PacketWriter::send() {
  packet_.set_trusted_packet_sequence_id(1);
  packet_.set_sequence_flags(first_ ? perfetto::TracePacket::INCREMENTAL_STATE_CLEARED
                                    : perfetto::TracePacket::NEEDS_INCREMENTAL_STATE);
  first_ = false;
  packet_.SerializeToString(&bytes_);
  packet_.Clear();
  waiting_ += '\x0a';  // Trace.packet: field 1, length-delimited
  append_varint(waiting_, bytes_.size());
  waiting_ += bytes_;
  if (waiting_.size() >= block_size) flush();
}

bool PacketWriter::flush() {
  out_.write(waiting_.data(), static_cast<std::streamsize>(waiting_.size()));
  waiting_.clear();
  out_.flush();
  return out_.good();
}

perfetto::TrackDescriptor& PacketWriter::begin_track(TrackId parent, std::string_view name, std::int32_t order) {
  perfetto::TrackDescriptor& track = *packet_.mutable_track_descriptor();
  track.set_uuid(++tracks_);
  if (parent != root) track.set_parent_uuid(parent);
  track.set_name(std::string(name));
  track.set_child_ordering(perfetto::TrackDescriptor::EXPLICIT);
  track.set_sibling_order_rank(order);
  return track;
}

TrackId PacketWriter::process(std::string_view name, std::int32_t order) {
  perfetto::ProcessDescriptor& process = *begin_track(root, name, order).mutable_process();
  process.set_pid(order + 1);  // a pid of 0 would mean the idle process
  process.set_process_name(std::string(name));
  send();
  return tracks_;
}

TrackId PacketWriter::track(TrackId parent, std::string_view name, std::int32_t order) {
  begin_track(parent, name, order);
  send();
  return tracks_;
}

TrackId PacketWriter::counter(TrackId parent, std::string_view name, std::string_view unit,
                              std::string_view description) {
  perfetto::TrackDescriptor& track = begin_track(parent, name, 0);
  track.set_description(std::string(description));
  track.mutable_counter()->set_unit_name(std::string(unit));
  send();
  return tracks_;
}

std::uint64_t PacketWriter::interned(InternedTexts& texts, std::string_view text,
                                     perfetto::InternedText* (perfetto::InternedData::*add)()) {
  bool fresh = false;
  const std::uint64_t number = texts.number(text, fresh);
  if (fresh) {
    perfetto::InternedText& entry = *(packet_.mutable_interned_data()->*add)();
    entry.set_iid(number);
    entry.set_text(std::string(text));
  }
  return number;
}

void PacketWriter::begin_event(TrackId track, perfetto::TrackEvent::Type type, Time at) {
  packet_.set_timestamp(timestamp(at));
  perfetto::TrackEvent& event = *packet_.mutable_track_event();
  event.set_type(type);
  event.set_track_uuid(track);
}

void PacketWriter::name(std::string_view text) {
  const std::uint64_t number = interned(names_, text, &perfetto::InternedData::add_event_names);
  perfetto::TrackEvent& event = *packet_.mutable_track_event();
  if (number == 0) {
    event.set_name(std::string(text));
  } else {
    event.set_name_iid(number);
  }
}

// Categories and keys of annotations are a few constants, so each of them always gets a number.
void PacketWriter::category(std::string_view text) {
  packet_.mutable_track_event()->add_category_iids(
      interned(categories_, text, &perfetto::InternedData::add_event_categories));
}

perfetto::DebugAnnotation& PacketWriter::annotation(std::string_view key) {
  perfetto::DebugAnnotation& annotation = *packet_.mutable_track_event()->add_debug_annotations();
  annotation.set_name_iid(interned(keys_, key, &perfetto::InternedData::add_debug_annotation_names));
  return annotation;
}

void PacketWriter::annotate(std::string_view key, std::string_view value) {
  perfetto::DebugAnnotation& to = annotation(key);
  const std::uint64_t number = interned(values_, value, &perfetto::InternedData::add_debug_annotation_string_values);
  if (number == 0) {
    to.set_string_value(std::string(value));
  } else {
    to.set_string_value_iid(number);
  }
}

void PacketWriter::annotate(std::string_view key, std::int64_t value) { annotation(key).set_int_value(value); }
void PacketWriter::value(double value) { packet_.mutable_track_event()->set_double_counter_value(value); }
void PacketWriter::starts_flow(std::uint64_t flow) { packet_.mutable_track_event()->add_flow_ids(flow); }
void PacketWriter::ends_flow(std::uint64_t flow) { packet_.mutable_track_event()->add_terminating_flow_ids(flow); }
void PacketWriter::end_event() { send(); }

}  // namespace moire::timeline
