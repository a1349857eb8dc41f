#include "sim/config/reading.hpp"

#include <fmt/format.h>

#include "sim/config/suggest.hpp"

namespace moire::config {

namespace {

bool is_plain_word(std::string_view key) {
  return !key.empty() && key.find_first_of(". ='\"") == std::string_view::npos;
}

std::string joined(const std::string& path, const std::string& segment) {
  return path.empty() ? segment : path + "." + segment;
}

}  // namespace

Reading Reading::at(std::string_view key, const Node& value) const {
  Reading inner = *this;
  inner.path = joined(path, is_plain_word(key) ? std::string(key) : fmt::format("\"{}\"", key));
  inner.enter(value);
  return inner;
}

Reading Reading::at(std::size_t index, const Node& value) const {
  Reading inner = *this;
  inner.path = joined(path, std::to_string(index));
  inner.enter(value);
  return inner;
}

void Reading::enter(const Node& value) {
  if (value.override_text) {
    override_text = value.override_text;
  } else if (value.top) {
    override_text = nullptr;
  }
  if (!override_text && value.place.source) file = value.place.source;
}

std::string Reading::name() const { return path.empty() ? "the top level" : "'" + path + "'"; }

bool Reading::fail(const Node& at, std::string what, std::string remedy) const {
  diagnostics->error(at.place, fmt::format("{} {}", name(), what), std::move(remedy));
  return false;
}

void Reading::record(const Node& value) const {
  if (!provenance) return;
  Provenance entry{path, value.text, stated_source.value_or(""), stated_residual, value.place};
  if (override_text) {
    entry.source = *override_text;
    entry.residual.reset();
  }
  provenance->push_back(std::move(entry));
}

bool read_list(const Node& node, const Reading& outer, const ReadItem& read) {
  if (node.broken && node.is_null()) return false;
  Reading reading = outer;
  const Node* list = &node;
  bool good = true;
  if (is_sourced_form(node)) {
    good = open_sourced_form(node, list, reading);
    if (!list) return false;
  }
  if (!list->is_sequence()) {
    const std::string example = reading.field ? reading.field->example() : "[...]";
    return reading.fail(*list, fmt::format("is {}, not a list", found(*list)), "write it like " + example);
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    if (!read(list->items[i], reading.at(i, list->items[i]))) good = false;
  }
  return good && !list->broken;
}

bool read_map(const Node& node, const Reading& reading, const ReadEntry& read) {
  if (node.broken && !node.is_map()) return false;
  if (!node.is_map()) {
    const std::string example = reading.field ? reading.field->example() : "{...}";
    return reading.fail(node, fmt::format("is {}, not a map", found(node)), "write it like " + example);
  }
  bool good = !node.broken;
  for (const Node::Entry& entry : node.entries) {
    if (node.top && entry.key == "sources") {
      if (!check_sources(entry, reading)) good = false;
    } else if (!read(entry.key, entry.value, reading.at(entry.key, entry.value))) {
      good = false;
    }
  }
  return good;
}

}  // namespace moire::config
