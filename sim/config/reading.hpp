// Converts nodes to values. Invalid values are reported to the diagnostics; user input never causes exceptions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/description.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::config {

// The origin of one parsed value.
struct Provenance {
  std::string path;    // "hbm.bandwidth"
  std::string value;   // as written
  std::string source;  // full text of its source, the override's text, "default", or "" if no source was given
  std::optional<double> residual;  // of a fitted value, as a ratio
  Place place;
};

// The context of the value that is being read. Each level of the tree gets its own copy, which describes this level.
struct Reading {
  Diagnostics* diagnostics = nullptr;
  std::vector<Provenance>* provenance = nullptr;  // may be null
  std::string path;
  const Field* field = nullptr;
  bool sourced = false;                              // the current spec requires sources
  std::shared_ptr<const Source> file;                // nearest enclosing file, whose `sources:` apply
  std::shared_ptr<const std::string> override_text;  // set inside a value that an override supplied
  std::optional<std::string> stated_source;          // the source of an enclosing {value: [...], source: x}
  std::optional<double> stated_residual;

  Reading at(std::string_view key, const Node& value) const;                   // returns the context of a map's entry
  Reading at(std::size_t index, const Node& value) const;                      // returns the context of a list's item
  void enter(const Node& value);                                               // adopts the node's file and override
  std::string name() const;                                                    // "'hbm.bandwidth'", or "the top level"
  bool fail(const Node& at, std::string what, std::string remedy = {}) const;  // reports "<name> <what>"; returns false
  void record(const Node& value) const;
};

bool read_quantity(const Node& node, Dimension dimension, double& out, const Reading& reading);
bool read_integer(const Node& node, std::int64_t low, std::int64_t high, std::int64_t& out, const Reading& reading);
bool read_flag(const Node& node, bool& out, const Reading& reading);
bool read_text(const Node& node, std::string& out, const Reading& reading);
bool read_path(const Node& node, std::filesystem::path& out, const Reading& reading);
bool read_choice(const Node& node, std::int64_t& out, const Reading& reading);

// read_list() and read_map() call `read` for every element, continue after a failure, and return true if all elements
// were valid.
using ReadItem = std::function<bool(const Node& item, const Reading& reading)>;
using ReadEntry = std::function<bool(const std::string& key, const Node& value, const Reading& reading)>;
bool read_list(const Node& node, const Reading& reading, const ReadItem& read);
bool read_map(const Node& node, const Reading& reading, const ReadEntry& read);

bool read_spec(const Node& node, const Description& description, void* object, const Reading& reading);

// The sourced form `{value: ..., source: ...}` may replace any scalar or list of scalars. open_sourced_form() sets
// `value` (null if the form has no value), stores source and residual in `reading`, and returns true if the form is
// valid.
bool is_sourced_form(const Node& node);
bool open_sourced_form(const Node& node, const Node*& value, Reading& reading);

// Checks that the `sources:` of a file are a map of texts.
bool check_sources(const Node::Entry& entry, const Reading& reading);

}  // namespace moire::config
