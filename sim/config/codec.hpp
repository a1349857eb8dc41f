// Defines a Codec for each C++ type that members of specs can have. A Codec states the YAML form of its type, reads a
// value of the type from a node, and formats a default value for help.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <type_traits>

#include "sim/config/reading.hpp"
#include "sim/config/suggest.hpp"

namespace moire::config {

template <class T>
class Describer;

template <class T>
concept Described = std::is_class_v<T> && requires(Describer<T>& d) {
  T::describe(d);
};

template <Described T>
const Description& description();

std::string show_choice(std::int64_t value, const Field& field);
std::string show_number(double value);

template <class M>
struct Codec;

template <HasDimension M>
struct Codec<M> {
  static Shape shape() { return {.form = Shape::Form::quantity, .dimension = DimensionOf<M>::value}; }
  static bool read(const Node& node, M& out, const Reading& reading) {
    double value = 0;
    if (!read_quantity(node, DimensionOf<M>::value, value, reading)) return false;
    out = from_base_units<M>(value);
    return true;
  }
  static std::string show(const M& value, const Field&) { return format_quantity(value); }
};

template <std::integral M>
struct Codec<M> {
  static Shape shape() { return {.form = Shape::Form::integer}; }
  static bool read(const Node& node, M& out, const Reading& reading) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto low = std::is_signed_v<M> ? static_cast<std::int64_t>(std::numeric_limits<M>::min()) : 0;
    constexpr auto high = std::cmp_greater(std::numeric_limits<M>::max(), most)
                              ? most
                              : static_cast<std::int64_t>(std::numeric_limits<M>::max());
    std::int64_t value = 0;
    if (!read_integer(node, low, high, value, reading)) return false;
    out = static_cast<M>(value);
    return true;
  }
  static std::string show(const M& value, const Field&) { return std::to_string(value); }
};

template <>
struct Codec<double> {
  static Shape shape() { return {.form = Shape::Form::number}; }
  static bool read(const Node& node, double& out, const Reading& reading) {
    return read_quantity(node, Dimension::ratio, out, reading);
  }
  static std::string show(const double& value, const Field&) { return show_number(value); }
};

template <>
struct Codec<bool> {
  static Shape shape() { return {.form = Shape::Form::flag}; }
  static bool read(const Node& node, bool& out, const Reading& reading) { return read_flag(node, out, reading); }
  static std::string show(const bool& value, const Field&) { return value ? "true" : "false"; }
};

template <>
struct Codec<std::string> {
  static Shape shape() { return {.form = Shape::Form::text}; }
  static bool read(const Node& node, std::string& out, const Reading& reading) { return read_text(node, out, reading); }
  static std::string show(const std::string& value, const Field&) { return value.empty() ? "\"\"" : value; }
};

template <>
struct Codec<std::filesystem::path> {
  static Shape shape() { return {.form = Shape::Form::path}; }
  static bool read(const Node& node, std::filesystem::path& out, const Reading& reading) {
    return read_path(node, out, reading);
  }
  static std::string show(const std::filesystem::path& value, const Field&) { return value.string(); }
};

template <class M>
requires std::is_enum_v<M>
struct Codec<M> {
  static Shape shape() { return {.form = Shape::Form::choice}; }
  static bool read(const Node& node, M& out, const Reading& reading) {
    std::int64_t value = 0;
    if (!read_choice(node, value, reading)) return false;
    out = static_cast<M>(value);
    return true;
  }
  static std::string show(const M& value, const Field& field) {
    return show_choice(static_cast<std::int64_t>(value), field);
  }
};

template <Described M>
struct Codec<M> {
  static Shape shape() { return {.form = Shape::Form::spec, .spec = &description<M>}; }
  static bool read(const Node& node, M& out, const Reading& reading) {
    return read_spec(node, description<M>(), &out, reading);
  }
  static std::string show(const M&, const Field&) { return "its own defaults"; }
};

template <>
struct Codec<Node> {  // the node is kept as written, and a later stage parses it
  static Shape shape() { return {}; }
  static bool read(const Node& node, Node& out, const Reading&) {
    out = node;
    return !node.broken;
  }
  static std::string show(const Node&, const Field&) { return "nothing"; }
};

template <class M>
struct Codec<std::optional<M>> {  // an explicit `null` means that the value is absent
  static Shape shape() { return Codec<M>::shape(); }
  static bool read(const Node& node, std::optional<M>& out, const Reading& reading) {
    if (node.is_null() && !node.broken) {
      out.reset();
      return true;
    }
    return Codec<M>::read(node, out.emplace(), reading);
  }
  static std::string show(const std::optional<M>& value, const Field& field) {
    return value ? Codec<M>::show(*value, field) : "none";
  }
};

template <class M>
struct Codec<std::vector<M>> {
  static Shape shape() { return {.form = Shape::Form::list, .element = {Codec<M>::shape()}}; }
  static bool read(const Node& node, std::vector<M>& out, const Reading& reading) {
    out.clear();
    return read_list(node, reading, [&out](const Node& item, const Reading& inner) {
      M value{};
      const bool good = Codec<M>::read(item, value, inner);
      out.push_back(std::move(value));
      return good;
    });
  }
  static std::string show(const std::vector<M>& values, const Field& field) {
    std::vector<std::string> words;
    words.reserve(values.size());
    for (const M& value : values) words.push_back(Codec<M>::show(value, field));
    return "[" + join(words) + "]";
  }
};

// A map whose keys keep the order of the file.
template <class M>
struct Codec<std::vector<std::pair<std::string, M>>> {
  using Pairs = std::vector<std::pair<std::string, M>>;
  static Shape shape() { return {.form = Shape::Form::map, .element = {Codec<M>::shape()}}; }
  static bool read(const Node& node, Pairs& out, const Reading& reading) {
    out.clear();
    return read_map(node, reading, [&out](const std::string& key, const Node& value, const Reading& inner) {
      return Codec<M>::read(value, out.emplace_back(key, M{}).second, inner);
    });
  }
  static std::string show(const Pairs& pairs, const Field& field) {
    std::vector<std::string> words;
    for (const auto& [key, value] : pairs) words.push_back(key + ": " + Codec<M>::show(value, field));
    return "{" + join(words) + "}";
  }
};

// A map with sorted keys.
template <class M>
struct Codec<std::map<std::string, M>> {
  using Pairs = std::vector<std::pair<std::string, M>>;
  static Shape shape() { return Codec<Pairs>::shape(); }
  static bool read(const Node& node, std::map<std::string, M>& out, const Reading& reading) {
    out.clear();
    return read_map(node, reading, [&out](const std::string& key, const Node& value, const Reading& inner) {
      return Codec<M>::read(value, out[key], inner);
    });
  }
  static std::string show(const std::map<std::string, M>& values, const Field& field) {
    return Codec<Pairs>::show(Pairs(values.begin(), values.end()), field);
  }
};

template <class M>
TypeFunctions type_functions() {
  return {Codec<M>::shape(),
          [](const Node& node, void* out, const Reading& reading) {
            return Codec<M>::read(node, *static_cast<M*>(out), reading);
          },
          [](const void* value, const Field& field) { return Codec<M>::show(*static_cast<const M*>(value), field); }};
}

}  // namespace moire::config
