// Formulas in scenarios, such as `ceil(m / 128) * ranks` or `16 KiB * (rank + 1)`: arithmetic, comparisons and a few
// functions over names. muParser (https://beltoforion.de/en/muparser) parses and evaluates them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/config.hpp"

namespace mu {
class Parser;
}

namespace moire::formula {

// The text of a formula and its place in the file.
struct FormulaText {
  std::string text;
  config::Place place;
};

// The names that formulas may use, each with a variable that can change between evaluations.
class Names {
 public:
  // Adds a name and returns the address of its variable. If the name is taken or invalid, returns null and writes the
  // reason to `why`.
  double* add(const std::string& name, double value, std::string& why);
  void hide_from(std::size_t count) { visible_.resize(count); }  // hides all but the first `count` names
  std::size_t count() const { return visible_.size(); }
  const std::vector<std::pair<std::string, double*>>& visible() const { return visible_; }

 private:
  std::deque<double> values_;  // deque: addresses stay valid
  std::vector<std::pair<std::string, double*>> visible_;
};

class Formula {
 public:
  // Compiles a formula that uses `names`. If the text is not such a formula, reports why and returns nothing. Messages
  // name the formula by `key`.
  static std::optional<Formula> compile(const FormulaText& text, std::string_view key, const Names& names,
                                        config::Diagnostics& diagnostics);
  double value() const;  // infinity or NaN after a division by zero
  const config::Place& place() const { return place_; }
  const std::string& key() const { return key_; }
  bool uses(const double* name) const;

 private:
  std::shared_ptr<mu::Parser> parser_;
  config::Place place_;
  std::string key_;
};

}  // namespace moire::formula

namespace moire::config {

template <>
struct Codec<formula::FormulaText> {
  static Shape shape() { return {.form = Shape::Form::formula}; }
  static bool read(const Node& node, formula::FormulaText& out, const Reading& reading);
  static std::string show(const formula::FormulaText& value, const Field&) { return value.text; }
};

}  // namespace moire::config
