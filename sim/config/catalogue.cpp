#include "sim/config/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/config/suggest.hpp"

namespace moire::config {

namespace {

std::string presence(const Field& field) {
  if (field.required) return "required";
  return field.has_default ? "default " + field.default_text : "optional";
}

std::string units_of(const Field& field) {
  const Shape& shape = field.type.shape.innermost();
  if (shape.form != Shape::Form::quantity) return {};
  return join(dimension_units(shape.dimension));
}

std::string sourced_note(const Description& component) {
  if (!component.sourced) return {};
  return "Every number states its source: {value: ..., source: key}, with the key under the file's sources:.\n";
}

std::string explain_component(const Description& component) {
  std::string out = fmt::format("{}: {}\n", component.name, component.meaning) + sourced_note(component) + "\n";
  std::size_t width = 0;
  for (const Field& field : component.fields) width = std::max(width, field.key.size());
  for (const Field& field : component.fields) {
    const std::string limits = field.limit_text();
    out += fmt::format("  {:<{}}  {}\n", field.key, width, field.meaning);
    out += fmt::format("  {:<{}}  {}, {}{}\n", "", width, field.type_text(), presence(field),
                       limits.empty() ? "" : ", " + limits);
  }
  return out;
}

std::string explain_field(std::string_view topic, const Field& field) {
  std::string out = fmt::format("{}: {}\n\n", topic, field.meaning);
  const auto line = [&out](std::string_view label, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<10}{}\n", label, text);
  };
  line("type", field.type_text());
  line("presence", presence(field));
  line("range", field.limit_text());
  line("units", units_of(field));
  line("example", field.key + ": " + field.example());
  return out;
}

// '|' ends a table cell and '<' starts HTML, so both are escaped.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '<' ? "&lt;" : std::string(1, c);
  }
  return out;
}

std::vector<std::string> split(std::string_view topic) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= topic.size();) {
    const std::size_t end = std::min(topic.find('.', at), topic.size());
    words.emplace_back(topic.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

void Catalogue::add(const Description& component) {
  if (!component.name.empty()) {
    const Description* known = find(component.name);
    if (known == &component) return;
    if (known) throw std::logic_error("two specs are named " + component.name);
    components_.push_back(&component);
  } else if (std::find(unnamed_.begin(), unnamed_.end(), &component) != unnamed_.end()) {
    return;
  } else {
    unnamed_.push_back(&component);
  }
  for (const Field& field : component.fields) {
    if (const Description* nested = nested_in(field)) add(*nested);
  }
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> out;
  for (const Description* component : components_) out.push_back(component->name);
  return out;
}

const Description* Catalogue::find(std::string_view name) const {
  const auto it =
      std::find_if(components_.begin(), components_.end(), [name](const Description* d) { return d->name == name; });
  return it == components_.end() ? nullptr : *it;
}

const Description* Catalogue::nested_in(const Field& field) const {
  const Shape& shape = field.type.shape.innermost();
  if (shape.form != Shape::Form::spec) return nullptr;
  return shape.spec != nullptr ? &shape.spec() : find(shape.elsewhere);
}

std::string Catalogue::list() const {
  std::size_t width = 0;
  for (const Description* component : components_) width = std::max(width, component->name.size());
  std::string out;
  for (const Description* component : components_) {
    out += fmt::format("{:<{}}  {}\n", component->name, width, component->meaning);
  }
  return out;
}

std::optional<std::string> Catalogue::explain(std::string_view topic, Diagnostics& diagnostics) const {
  const std::vector<std::string> words = split(topic);
  const Description* component = find(words.front());
  if (!component) {
    diagnostics.error({}, "no component " + in_quotes(words.front()), suggestion(words.front(), names(), "components"));
    return std::nullopt;
  }
  const Field* field = nullptr;
  for (std::size_t i = 1; i < words.size(); ++i) {
    field = component ? component->find(words[i]) : nullptr;
    if (!field) {
      const std::vector<std::string> keys = component ? component->keys() : std::vector<std::string>();
      diagnostics.error({}, fmt::format("{} has no key {}", words[i - 1], in_quotes(words[i])),
                        suggestion(words[i], keys, "known keys"));
      return std::nullopt;
    }
    component = nested_in(*field);
  }
  if (!field) return explain_component(*component);
  std::string out = explain_field(topic, *field);
  if (component) out += "\n" + explain_component(*component);
  return out;
}

std::string Catalogue::markdown(const Description& component) const {
  std::string out = fmt::format("# {}\n\n{}\n", component.name, component.meaning);
  if (component.sourced) out += "\n" + sourced_note(component);
  out += "\n| key | meaning | type | presence | range | example |\n|---|---|---|---|---|---|\n";
  for (const Field& field : component.fields) {
    const Description* nested = nested_in(field);
    const bool linked = nested && !nested->name.empty();
    const std::string type = cell(field.type_text()) + (linked ? fmt::format(" ([{0}]({0}.md))", nested->name) : "");
    out += fmt::format("| `{}` | {} | {} | {} | {} | `{}` |\n", field.key, cell(field.meaning), type,
                       cell(presence(field)), cell(field.limit_text()), cell(field.example()));
  }
  return out;
}

std::string Catalogue::markdown() const {
  std::string out = "# Components\n\n| component | meaning |\n|---|---|\n";
  for (const Description* component : components_) {
    out += fmt::format("| [{0}]({0}.md) | {1} |\n", component->name, cell(component->meaning));
  }
  return out;
}

}  // namespace moire::config
