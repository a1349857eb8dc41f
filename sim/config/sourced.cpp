// Reads the sourced form {value: 4.8 TB/s, source: datasheet, residual: 3 %}, and the map `sources:` of a file, which
// in this example gives the full text of the source `datasheet`.
#include <fmt/format.h>

#include "sim/config/reading.hpp"
#include "sim/config/suggest.hpp"

namespace moire::config {

namespace {

const std::string* find_reference(const std::string& key, const Node& node, const Reading& reading) {
  for (const Source* source : {reading.file.get(), node.place.source.get()}) {
    if (!source) continue;
    if (const auto it = source->references.find(key); it != source->references.end()) return &it->second;
  }
  return nullptr;
}

bool read_source(const Node& node, Reading& reading) {
  if (!node.is_scalar()) {
    return reading.fail(node, "has a source that is " + found(node), "name a key of the file's sources:");
  }
  if (const std::string* text = find_reference(node.text, node, reading)) {
    reading.stated_source = *text;
    return true;
  }
  std::vector<std::string> known;
  if (reading.file) {
    for (const auto& reference : reading.file->references) known.push_back(reference.first);
  }
  const std::string remedy = known.empty()
                                 ? fmt::format("add sources: {{{}: \"title, year\"}} at the top of the file", node.text)
                                 : suggestion(node.text, known, "known sources");
  return reading.fail(node, "has the unknown source " + in_quotes(node.text), remedy);
}

bool read_residual(const Node& node, Reading& reading) {
  double residual = 0;
  const auto problem =
      node.is_scalar() ? parse_quantity(node.text, Dimension::ratio, residual) : Problem{"it is " + found(node), ""};
  if (problem) return reading.fail(node, "has a bad residual: " + problem->what, "write a ratio like 0.03 or 3 %");
  reading.stated_residual = residual;
  return true;
}

}  // namespace

bool is_sourced_form(const Node& node) { return node.is_map() && (node.find("value") || node.find("source")); }

bool open_sourced_form(const Node& node, const Node*& value, Reading& reading) {
  bool good = !node.broken;
  value = nullptr;
  for (const Node::Entry& entry : node.entries) {
    if (entry.key == "value") {
      value = &entry.value;
    } else if (entry.key == "source") {
      if (!read_source(entry.value, reading)) good = false;
    } else if (entry.key == "residual") {
      if (!read_residual(entry.value, reading)) good = false;
    } else if (node.top && entry.key == "sources") {  // a file that holds one value
      if (!check_sources(entry, reading)) good = false;
    } else {
      Node at;
      at.place = entry.key_place;
      good = reading.fail(at, "has the unknown key " + in_quotes(entry.key),
                          suggestion(entry.key, {"value", "source", "residual"}, "known keys"));
    }
  }
  if (!value) return reading.fail(node, "states a source but no value", "write {value: ..., source: ...}");
  reading.enter(*value);
  return good;
}

bool check_sources(const Node::Entry& entry, const Reading& reading) {
  const auto reject = [&reading](const Node& node) {
    reading.diagnostics->error(node.place, "'sources' names each source by a text, not by " + found(node),
                               "write sources: {datasheet: \"title, year\"}");
    return false;
  };
  if (!entry.value.is_map()) return reject(entry.value);
  bool good = true;
  for (const Node::Entry& reference : entry.value.entries) {
    if (!reference.value.is_scalar() || reference.value.text.empty()) good = reject(reference.value);
  }
  return good && !entry.value.broken;
}

}  // namespace moire::config
