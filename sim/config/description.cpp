#include "sim/config/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/config/codec.hpp"
#include "sim/config/suggest.hpp"

namespace moire::config {

namespace {

std::string base_text(double value, const Shape& shape) {
  return shape.form == Shape::Form::quantity ? format_quantity(value, shape.dimension) : show_number(value);
}

std::string shape_text(const Shape& shape, const Field& field) {
  switch (shape.form) {
    case Shape::Form::quantity:
      return std::string(dimension_name(shape.dimension));
    case Shape::Form::integer:
      return "integer";
    case Shape::Form::number:
      return "ratio";
    case Shape::Form::flag:
      return "true or false";
    case Shape::Form::text:
      return field.choices.empty() ? "text" : "one of " + join(field.choice_names());
    case Shape::Form::formula:
      return "formula";
    case Shape::Form::choice:
      return "one of " + join(field.choice_names());
    case Shape::Form::path:
      return field.must_exist ? "path of an existing file or folder" : "path";
    case Shape::Form::spec:
      if (shape.spec == nullptr) return shape.elsewhere;
      return shape.spec().name.empty() ? "map" : shape.spec().name;
    case Shape::Form::list:
      return "list, each: " + shape_text(shape.element.front(), field);
    case Shape::Form::map:
      return "map of names, each: " + shape_text(shape.element.front(), field);
    case Shape::Form::any:
      return "any YAML";
  }
  return {};
}

std::string shape_example(const Shape& shape, const Field& field) {
  switch (shape.form) {
    case Shape::Form::quantity:
      return std::string(dimension_example(shape.dimension));
    case Shape::Form::integer:
      return "8";
    case Shape::Form::number:
      return "0.92";
    case Shape::Form::flag:
      return "true";
    case Shape::Form::text:
      return field.choices.empty() ? "text" : field.choices.front().first;
    case Shape::Form::formula:
      return "2 * ranks";
    case Shape::Form::choice:
      return field.choices.empty() ? "" : field.choices.front().first;
    case Shape::Form::path:
      return "folder/file";
    case Shape::Form::spec:
      return "{...}";
    case Shape::Form::list:
      return "[" + shape_example(shape.element.front(), field) + "]";
    case Shape::Form::map:
      return "{name: " + shape_example(shape.element.front(), field) + "}";
    case Shape::Form::any:
      return "...";
  }
  return {};
}

}  // namespace

std::vector<std::string> Field::choice_names() const {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  return names;
}

std::string Field::example() const { return example_text.empty() ? shape_example(type.shape, *this) : example_text; }

std::string Field::type_text() const { return shape_text(type.shape, *this); }

std::string Field::limit_text() const {
  const Shape& shape = type.shape.innermost();
  if (!std::isinf(limits.high))
    return fmt::format("{} to {}", base_text(limits.low, shape), base_text(limits.high, shape));
  return limits.low == 0 ? "" : fmt::format("at least {}", base_text(limits.low, shape));
}

const Field* Description::find(std::string_view key) const {
  const auto it = std::find_if(fields.begin(), fields.end(), [key](const Field& f) { return f.key == key; });
  return it == fields.end() ? nullptr : &*it;
}

std::vector<std::string> Description::keys() const {
  std::vector<std::string> out;
  for (const Field& field : fields) out.push_back(field.key);
  return out;
}

std::string show_choice(std::int64_t value, const Field& field) {
  for (const auto& choice : field.choices) {
    if (choice.second == value) return choice.first;
  }
  return {};
}

std::string show_number(double value) { return fmt::format("{}", value); }

}  // namespace moire::config
