// The description that a spec gives of itself, without its C++ type. Parsing, `moire explain` and the reference pages
// use this description.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/config/units.hpp"

namespace moire::config {

struct Description;
struct Reading;
struct Field;

// The YAML form of a value. A ratio has the form `number`. All elements of a list or map have the same form.
struct Shape {
  enum class Form { quantity, integer, number, flag, text, formula, path, choice, spec, list, map, any };

  Form form = Form::any;
  Dimension dimension = Dimension::ratio;  // of a quantity
  const Description& (*spec)() = nullptr;  // of a nested spec; a function, because specs may contain themselves
  std::string elsewhere = {};              // set instead of `spec`: name of the component that another reader parses
  std::vector<Shape> element = {};         // of a list or map: exactly one

  const Shape& innermost() const { return element.empty() ? *this : element.front().innermost(); }
};

// The permitted range of a value, in base units. Unless a field says otherwise, numbers are at least 0 and within the
// bounds of their dimension.
struct Limits {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

// Type-erased functions of a C++ type, so that the code that walks specs need not be a template.
struct TypeFunctions {
  Shape shape;
  bool (*read)(const Node&, void* out, const Reading&) = nullptr;
  std::string (*show)(const void* value, const Field&) = nullptr;
};

struct Field {
  std::string key;
  std::string meaning;
  TypeFunctions type;
  std::function<void*(void* object)> locate;

  bool required = true;
  bool has_default = false;  // `default_text` shows the struct's initial value
  std::string default_text;
  Limits limits;
  bool fractional = false;  // true for a size that may have fractions of a byte
  std::vector<std::pair<std::string, std::int64_t>> choices;
  bool must_exist = false;  // for paths
  std::string example_text;

  std::vector<std::string> choice_names() const;
  std::string example() const;     // a valid value, "4.8 TB/s"
  std::string type_text() const;   // "bandwidth", "list of times", "one of flow, queue"
  std::string limit_text() const;  // "1 MB/s to 1 EB/s", "1 to 8"; "" if the limits are 0 and infinity
};

struct Check {
  std::string key;  // the key to which errors refer; "" for the whole spec
  std::function<std::optional<Problem>(const void* object)> run;
};

struct Description {
  std::string name;
  std::string meaning;
  bool sourced = false;
  std::vector<Field> fields;
  std::vector<Check> checks;

  const Field* find(std::string_view key) const;
  std::vector<std::string> keys() const;
};

}  // namespace moire::config
