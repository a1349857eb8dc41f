#include "sim/config/spec.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/config/unknown_key.hpp"

namespace moire::config {

namespace {

std::string named(const Description& description) { return description.name.empty() ? "this map" : description.name; }

bool is_number(const Field& field) {
  const Shape::Form form = field.type.shape.innermost().form;
  return form == Shape::Form::quantity || form == Shape::Form::integer || form == Shape::Form::number;
}

bool read_missing(const Node& node, const Field& field, const Description& description, const Reading& reading) {
  if (field.required) {
    const bool in_form = reading.sourced && is_number(field) && !reading.override_text;
    const std::string example =
        in_form ? fmt::format("{{value: {}, source: datasheet}}", field.example()) : field.example();
    reading.diagnostics->error(node.place, fmt::format("missing key '{}' in {}", field.key, named(description)),
                               fmt::format("add '{}: {}'", field.key, example));
    return false;
  }
  if (field.has_default && reading.provenance && field.type.shape.form != Shape::Form::spec) {
    reading.provenance->push_back(
        {reading.at(field.key, Node{}).path, field.default_text, "default", std::nullopt, node.place});
  }
  return true;
}

bool run_checks(const Node& node, const Description& description, const void* object, const Reading& reading) {
  bool good = true;
  for (const Check& check : description.checks) {
    const auto failure = check.run(object);
    if (!failure) continue;
    const Node* blamed = check.key.empty() ? nullptr : node.find(check.key);
    const Node& at = blamed ? *blamed : node;
    const std::string path = blamed ? reading.at(check.key, *blamed).path : reading.path;
    const std::string subject = path.empty() ? named(description) : path;
    reading.diagnostics->error(at.place, fmt::format("'{}': {}", subject, failure->what), failure->remedy);
    good = false;
  }
  return good;
}

}  // namespace

void report_unknown(const Node::Entry& entry, const Description& description, Diagnostics& diagnostics,
                    const std::vector<std::string>& more) {
  std::vector<std::string> keys = description.keys();
  keys.insert(keys.end(), more.begin(), more.end());
  const std::string remedy = entry.key == "<<" ? "merge keys are not supported, write the keys out"
                                               : suggestion(entry.key, keys, "known keys");
  diagnostics.error(entry.key_place, fmt::format("unknown key {} in {}", in_quotes(entry.key), named(description)),
                    remedy);
}

const Node* descend(const Node& root, std::initializer_list<std::string_view> keys, Reading& reading) {
  const Node* node = &root;
  reading.enter(root);
  for (const std::string_view key : keys) {
    node = node->find(key);
    if (node == nullptr) return nullptr;
    reading = reading.at(key, *node);
  }
  return node;
}

bool read_spec(const Node& node, const Description& description, void* object, const Reading& outer) {
  if (node.broken && !node.is_map()) return false;
  if (!node.is_map()) {
    return outer.fail(node, node.is_null() ? "has no value" : fmt::format("is {}, not a map", found(node)),
                      fmt::format("it takes the keys {}", join(description.keys())));
  }
  Reading reading = outer;
  reading.sourced = outer.sourced || description.sourced;  // nested specs of a sourced spec are sourced too
  reading.stated_source.reset();
  reading.stated_residual.reset();

  bool good = !node.broken;
  for (const Node::Entry& entry : node.entries) {
    const Field* field = description.find(entry.key);
    if (field) {
      Reading inner = reading.at(entry.key, entry.value);
      inner.field = field;
      if (!field->type.read(entry.value, field->locate(object), inner)) good = false;
    } else if (node.top && entry.key == "sources") {
      if (!check_sources(entry, reading)) good = false;
    } else {
      report_unknown(entry, description, *reading.diagnostics);
      good = false;
    }
  }
  for (const Field& field : description.fields) {
    if (!node.find(field.key) && !read_missing(node, field, description, reading)) good = false;
  }
  return good && run_checks(node, description, object, reading);
}

}  // namespace moire::config
