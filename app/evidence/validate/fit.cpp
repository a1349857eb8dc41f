#include "app/evidence/validate/fit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

using config::Diagnostics;
using config::in_quotes;
using config::Node;
using config::Shape;

bool is_a_word(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

// Returns the keys of the section that `path` names, for suggestions in messages.
std::vector<std::string> known_keys(const libraries::Path& path) {
  const config::Description* spec = libraries::section_spec(path.section);
  return spec != nullptr ? spec->keys() : std::vector<std::string>{};
}

std::string unknown_remedy(const std::string& text, const libraries::Path& path) {
  const std::vector<std::string> known = known_keys(path);
  if (!known.empty())
    return config::suggestion(path.key, known,
                              "keys of " + (path.section.empty() ? "a profile" : in_quotes(path.section)));
  return fmt::format("name a section that 'moire explain library' lists; {} is not one",
                     in_quotes(text.substr(0, text.rfind('.'))));
}

std::optional<FitKey> read_key(const std::string& text, const Node& value, const config::Place& place,
                               Diagnostics& diagnostics) {
  const auto fail = [&](const config::Place& at, const std::string& what, const std::string& remedy) {
    diagnostics.error(at, what, remedy);
    return std::nullopt;
  };
  if (value.broken) return std::nullopt;
  const libraries::Path path = libraries::split_path(text);
  const config::Field* field = libraries::field_at(path);
  if (field == nullptr)
    return fail(place, fmt::format("a library's profile has no {}", in_quotes(text)), unknown_remedy(text, path));
  const Shape& shape = field->type.shape;
  if (shape.form != Shape::Form::quantity && shape.form != Shape::Form::number)
    return fail(place, fmt::format("'{}' ({}) cannot be fitted", text, field->type_text()),
                "name a time, a size, a rate or a ratio");
  FitKey key{text, shape.form == Shape::Form::quantity ? shape.dimension : config::Dimension::ratio, 0, 0, 0, place};
  const std::string example = "write where the search begins, for example " + field->example();
  if (!value.is_scalar())
    return fail(value.place, fmt::format("'keys.{}' is {}, not a value", text, found(value)), example);
  if (const auto problem = config::parse_quantity(value.text, key.dimension, key.start))
    return fail(value.place, fmt::format("'keys.{}': {}", text, problem->what), problem->remedy);
  if (key.start <= 0)
    return fail(value.place, fmt::format("the search for 'keys.{}' begins at {}", text, in_quotes(value.text)),
                "write a start above 0, because the search multiplies it by factors");
  const config::Limits& limits = field->limits;
  if (key.start < limits.low || key.start > limits.high)
    return fail(value.place, fmt::format("the search for 'keys.{}' begins at {}", text, in_quotes(value.text)),
                fmt::format("write a start in the range of the key: {}", field->limit_text()));
  key.low = std::max(limits.low, key.start / fit_range);
  key.high = std::min(limits.high, key.start * fit_range);
  return key;
}

}  // namespace

void FitSpec::describe(config::Describer<FitSpec>& d) {
  d.component("fit", "What `moire calibrate` fits in a library's profile to groups of a validation file.");
  d.field("name", &FitSpec::name, "Name of the fit; the profile states fitted_<name> as the source of its values")
      .example("ll");
  d.field("groups", &FitSpec::groups, "Groups whose errors are minimised; other cases are ignored").example("[ll]");
  d.field("keys", &FitSpec::keys,
          "Values of the profile to fit: map from the path of a value to the start of its search")
      .example("{channels.ll.step_overhead: 0.4 us}");
}

Fit read_fit(const FitSpec& spec, const Node& node, const std::vector<std::string>& group_names,
             Diagnostics& diagnostics) {
  Fit fit;
  fit.name = spec.name;
  fit.place = node.place;
  const auto place_of = [&node](const char* key) -> const config::Place& {
    const Node* at = node.find(key);
    return at ? at->place : node.place;
  };
  if (!is_a_word(spec.name))
    diagnostics.error(place_of("name"), fmt::format("'name' is {}", in_quotes(spec.name)),
                      "use lower-case letters, digits and _, because the name becomes part of a source's name");
  if (spec.groups.empty()) diagnostics.error(place_of("groups"), "'groups' names no group", "name at least one group");
  const Node* groups = node.find("groups");
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    const config::Place& place = groups && i < groups->items.size() ? groups->items[i].place : place_of("groups");
    const auto known = std::find(group_names.begin(), group_names.end(), spec.groups[i]);
    const auto number = static_cast<std::size_t>(known - group_names.begin());
    if (known == group_names.end()) {
      diagnostics.error(place, fmt::format("'groups' names no group: {}", in_quotes(spec.groups[i])),
                        config::suggestion(spec.groups[i], group_names, "groups"));
    } else if (std::find(fit.groups.begin(), fit.groups.end(), number) != fit.groups.end()) {
      diagnostics.error(place, fmt::format("group {} is named twice", in_quotes(spec.groups[i])), "name it once");
    } else {
      fit.groups.push_back(number);
    }
  }
  if (spec.keys.empty())
    diagnostics.error(place_of("keys"), "'keys' has no value to fit",
                      "write at least one, such as {channels.setup: 4 us}");
  const Node* keys = node.find("keys");
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    const auto& [text, value] = spec.keys[i];
    const config::Place& place = keys && i < keys->entries.size() ? keys->entries[i].key_place : value.place;
    if (auto key = read_key(text, value, place, diagnostics)) fit.keys.push_back(std::move(*key));
  }
  return fit;
}

}  // namespace moire::validate
