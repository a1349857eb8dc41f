// Reads single values (numbers, flags, text, paths, choices), in plain or sourced form.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/config/reading.hpp"
#include "sim/config/suggest.hpp"

namespace moire::config {

namespace {

struct Scalar {
  const Node* node = nullptr;  // null: the problem was already reported
  Reading reading;
  bool good = true;  // false: a problem was reported, but the text can still be checked
};

enum class Kind { number, other };  // a sourced spec requires sources for numbers only

// Returns an example of the sourced form that is required here, with the user's value.
std::string sourced_example(const Node& value, const Reading& reading) {
  const bool known = reading.file && !reading.file->references.empty();
  const std::string key = known ? reading.file->references.begin()->first : "datasheet";
  const std::string form = fmt::format("write {{value: {}, source: {}}}", value.text, key);
  return known ? form : form + fmt::format(" and, at the top of the file, sources: {{{}: \"title, year\"}}", key);
}

Scalar scalar(const Node& node, const Reading& outer, std::string_view expected, Kind kind) {
  Scalar out{&node, outer};
  if (node.broken && !node.is_scalar() && !node.is_map()) return {nullptr, outer, false};
  if (is_sourced_form(node)) {
    out.good = open_sourced_form(node, out.node, out.reading);
    if (!out.node) return out;
  }
  const Node& value = *out.node;
  if (!value.is_scalar()) {
    const std::string example = outer.field ? "write it like " + outer.field->example() : std::string();
    const std::string hint = value.top ? "quote the file name to keep it as text" : example;
    out.reading.fail(value, value.is_null() ? "has no value" : fmt::format("is {}, not {}", found(value), expected),
                     hint);
    return {nullptr, outer, false};
  }
  const bool unsourced = outer.sourced && !out.reading.stated_source && !out.reading.override_text;
  if (kind == Kind::number && unsourced && out.good) {
    out.good = out.reading.fail(value, "states no source", sourced_example(value, out.reading));
  }
  out.good = out.good && !value.broken;
  return out;
}

bool finish(const Scalar& scalar) {
  if (scalar.good) scalar.reading.record(*scalar.node);
  return scalar.good;
}

bool within_limits(double value, const Scalar& scalar) {
  const Field* field = scalar.reading.field;
  const Limits limits = field ? field->limits : Limits{};
  if (value >= limits.low && value <= limits.high) return true;
  const std::string wanted = field ? field->limit_text() : std::string();
  return scalar.reading.fail(*scalar.node, "is " + in_quotes(scalar.node->text),
                             "must be " + (wanted.empty() ? "0 or more" : wanted));
}

// Rounds `bytes` to a whole number. Reports an error and returns false if `bytes` was not whole. A rounding error of
// the product of number and unit is tolerated: 23.77 kB are 23,770 B.
bool whole(double& bytes, const Scalar& scalar) {
  const double rounded = std::round(bytes);
  if (std::abs(bytes - rounded) > 1e-12 * std::abs(bytes))
    return scalar.reading.fail(*scalar.node,
                               fmt::format("is {}, not a whole number of bytes", in_quotes(scalar.node->text)),
                               fmt::format("the nearest is {:.0f} B", std::max(rounded, 1.0)));
  bytes = rounded;
  return true;
}

}  // namespace

bool read_quantity(const Node& node, Dimension dimension, double& out, const Reading& reading) {
  const Scalar s = scalar(node, reading, fmt::format("a {}", dimension_name(dimension)), Kind::number);
  if (!s.node) return false;
  if (auto problem = parse_quantity(s.node->text, dimension, out)) {
    s.reading.diagnostics->error(s.node->place, s.reading.name() + ": " + problem->what, std::move(problem->remedy));
    return false;
  }
  if (dimension == Dimension::bytes && !(reading.field && reading.field->fractional) && !whole(out, s)) return false;
  return within_limits(out, s) && finish(s);
}

bool read_integer(const Node& node, std::int64_t low, std::int64_t high, std::int64_t& out, const Reading& reading) {
  const Scalar s = scalar(node, reading, "a whole number", Kind::number);
  if (!s.node) return false;
  const std::string& text = s.node->text;
  const char* last = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), last, out);
  if (rest != last || (error != std::errc() && error != std::errc::result_out_of_range)) {
    return s.reading.fail(*s.node, fmt::format("is {}, not an integer", in_quotes(text)),
                          "write digits only, like " + (reading.field ? reading.field->example() : "8"));
  }
  if (error == std::errc::result_out_of_range || out < low || out > high) {
    return s.reading.fail(*s.node, "is " + in_quotes(text), fmt::format("must be {} to {}", low, high));
  }
  return within_limits(static_cast<double>(out), s) && finish(s);
}

bool read_flag(const Node& node, bool& out, const Reading& reading) {
  const Scalar s = scalar(node, reading, "true or false", Kind::other);
  if (!s.node) return false;
  if (s.node->text != "true" && s.node->text != "false") {
    return s.reading.fail(*s.node, "is " + in_quotes(s.node->text), "write true or false");
  }
  out = s.node->text == "true";
  return finish(s);
}

bool read_text(const Node& node, std::string& out, const Reading& reading) {
  if (reading.field && !reading.field->choices.empty()) {
    std::int64_t index = 0;
    if (!read_choice(node, index, reading)) return false;
    out = reading.field->choices[static_cast<std::size_t>(index)].first;
    return true;
  }
  const Scalar s = scalar(node, reading, "text", Kind::other);
  if (!s.node) return false;
  out = s.node->text;
  return finish(s);
}

bool read_path(const Node& node, std::filesystem::path& out, const Reading& reading) {
  const Scalar s = scalar(node, reading, "a path", Kind::other);
  if (!s.node) return false;
  if (s.node->text.empty()) return s.reading.fail(*s.node, "is an empty path", "name a file or a folder");
  const auto& source = s.node->place.source;
  out = ((source ? source->folder : std::filesystem::path()) / s.node->text).lexically_normal();
  std::error_code error;
  if (reading.field && reading.field->must_exist && !std::filesystem::exists(out, error)) {
    return s.reading.fail(*s.node, fmt::format("names {}, which does not exist", in_quotes(out.string())),
                          "a path is relative to the file it is written in");
  }
  return finish(s);
}

bool read_choice(const Node& node, std::int64_t& out, const Reading& reading) {
  const std::vector<std::string> names = reading.field ? reading.field->choice_names() : std::vector<std::string>();
  const Scalar s = scalar(node, reading, "one of " + join(names), Kind::other);
  if (!s.node) return false;
  for (const auto& [name, value] : reading.field->choices) {
    if (name != s.node->text) continue;
    out = value;
    return finish(s);
  }
  return s.reading.fail(*s.node, "is " + in_quotes(s.node->text), suggestion(s.node->text, names, "it is one of"));
}

}  // namespace moire::config
