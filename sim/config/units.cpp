#include "sim/config/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/config/diagnostics.hpp"
#include "sim/config/suggest.hpp"

namespace moire::config {

namespace {

struct Unit {
  std::string symbol;
  Dimension dimension;
  double factor;  // to the base unit
};

struct DimensionInfo {
  Dimension dimension;
  std::string_view name;
  std::string_view example;
  Bounds bounds;
};

constexpr double largest_size = 0x1p53;  // up to here a double represents every integer

constexpr DimensionInfo dimensions[] = {
    {Dimension::time, "time", "700 ns", {1, 1e15}},
    {Dimension::bytes, "size", "64 MiB", {0, largest_size}},  // fractions of a byte: see FieldBuilder::fractional
    {Dimension::bytes_per_second, "bandwidth", "200 GB/s", {1e6, 1e21}},
    {Dimension::flop, "number of operations", "2 TFLOP", {1, 1e24}},
    {Dimension::flop_per_second, "compute rate", "989 TFLOP/s", {1e6, 1e22}},
    {Dimension::per_second, "rate of events", "150 M/s", {1e3, 1e18}},
    {Dimension::power, "power", "700 W", {1e-6, 1e9}},
    {Dimension::energy, "amount of energy", "75 pJ", {1e-18, 1e9}},
    {Dimension::ratio, "ratio", "0.92", {1e-15, 1e15}},
};

const DimensionInfo& info(Dimension dimension) { return dimensions[static_cast<std::size_t>(dimension)]; }

constexpr std::pair<const char*, double> decimal[] = {{"", 1},     {"k", 1e3},  {"M", 1e6},  {"G", 1e9},
                                                      {"T", 1e12}, {"P", 1e15}, {"E", 1e18}, {"Z", 1e21}};
constexpr std::pair<const char*, double> binary[] = {
    {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}};

const std::vector<Unit>& units() {
  static const std::vector<Unit> table = [] {
    std::vector<Unit> out;
    const auto prefixed = [&out](const auto& prefixes, const char* symbol, Dimension dimension, double factor = 1) {
      for (const auto& [prefix, scale] : prefixes) {
        out.push_back({prefix + std::string(symbol), dimension, scale * factor});
      }
    };
    out = {{"ps", Dimension::time, 1},   {"ns", Dimension::time, 1e3}, {"us", Dimension::time, 1e6},
           {"µs", Dimension::time, 1e6}, {"ms", Dimension::time, 1e9}, {"s", Dimension::time, 1e12}};
    prefixed(decimal, "B", Dimension::bytes);
    prefixed(binary, "B", Dimension::bytes);
    prefixed(decimal, "B/s", Dimension::bytes_per_second);
    prefixed(binary, "B/s", Dimension::bytes_per_second);
    prefixed(decimal, "b/s", Dimension::bytes_per_second, 0.125);
    prefixed(binary, "b/s", Dimension::bytes_per_second, 0.125);
    prefixed(decimal, "FLOP", Dimension::flop);
    prefixed(decimal, "FLOP/s", Dimension::flop_per_second);
    prefixed(decimal, "/s", Dimension::per_second);
    prefixed(decimal, "Hz", Dimension::per_second);
    out.insert(out.end(), {{"mW", Dimension::power, 1e-3}, {"W", Dimension::power, 1}, {"kW", Dimension::power, 1e3}});
    out.insert(out.end(), {{"fJ", Dimension::energy, 1e-15},
                           {"pJ", Dimension::energy, 1e-12},
                           {"nJ", Dimension::energy, 1e-9},
                           {"uJ", Dimension::energy, 1e-6},
                           {"mJ", Dimension::energy, 1e-3},
                           {"J", Dimension::energy, 1},
                           {"kJ", Dimension::energy, 1e3}});
    out.push_back({"%", Dimension::ratio, 0.01});
    return out;
  }();
  return table;
}

const Unit* find_unit(std::string_view symbol) {
  const auto it = std::find_if(units().begin(), units().end(), [symbol](const Unit& u) { return u.symbol == symbol; });
  return it == units().end() ? nullptr : &*it;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string write_like(Dimension dimension) {
  if (dimension == Dimension::ratio) return "write a ratio like 0.92 or 92 %";
  return fmt::format("write a {} like {}", dimension_name(dimension), dimension_example(dimension));
}

// Returns the remedy for an unknown unit. Upper and lower case distinguish bits from bytes and milli from mega, so all
// known units that differ from `unit` only by case are offered.
std::string unit_suggestion(std::string_view unit, Dimension dimension) {
  std::vector<std::string> symbols;
  for (const Unit& u : units()) {
    if (u.dimension == dimension) symbols.push_back(u.symbol);
  }
  std::vector<std::string> same;
  for (const std::string& symbol : symbols) {
    if (symbol.size() == unit.size() && edit_distance(symbol, unit) == 0) same.push_back("'" + symbol + "'");
  }
  if (!same.empty()) return fmt::format("did you mean {}?", join(same, " or "));
  if (const auto near = nearest(unit, symbols)) return fmt::format("did you mean '{}'?", *near);
  return write_like(dimension);
}

std::optional<Problem> unit_problem(std::string_view text, std::string_view unit, Dimension dimension) {
  if (const Unit* known = find_unit(unit)) {
    return Problem{fmt::format("{} is a {}, not a {}", in_quotes(text), dimension_name(known->dimension),
                               dimension_name(dimension)),
                   write_like(dimension)};
  }
  return Problem{fmt::format("{} has the unknown unit {}", in_quotes(text), in_quotes(unit)),
                 unit_suggestion(unit, dimension)};
}

std::optional<Problem> bounds_problem(std::string_view text, Dimension dimension, double value) {
  const Bounds bounds = bounds_of(dimension);
  const double size = std::abs(value);
  if (size == 0 || (size >= bounds.least && size <= bounds.most)) return std::nullopt;
  const char* const beyond = size < bounds.least ? "below" : "above";
  const std::string most = format_quantity(bounds.most, dimension);
  return Problem{fmt::format("{} is {} what a {} can be", in_quotes(text), beyond, dimension_name(dimension)),
                 bounds.least == 0 ? fmt::format("it is at most {}", most)
                                   : fmt::format("it is {} to {}", format_quantity(bounds.least, dimension), most)};
}

}  // namespace

std::optional<Problem> parse_quantity(std::string_view text, Dimension dimension, double& value) {
  const std::string_view whole = trimmed(text);
  std::string_view digits = whole;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double number = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range) {
    return Problem{in_quotes(whole) + " is outside the range of numbers", write_like(dimension)};
  }
  if (error != std::errc()) return Problem{in_quotes(whole) + " is not a number", write_like(dimension)};
  if (!std::isfinite(number)) return Problem{in_quotes(whole) + " is not a finite number", write_like(dimension)};

  const std::string_view symbol = trimmed(digits.substr(static_cast<std::size_t>(rest - digits.data())));
  double factor = 1;
  if (!symbol.empty()) {
    const Unit* unit = find_unit(symbol);
    if (!unit || unit->dimension != dimension) return unit_problem(whole, symbol, dimension);
    factor = unit->factor;
  } else if (dimension != Dimension::ratio) {
    const std::string_view name = dimension_name(dimension);
    return Problem{in_quotes(whole) + " has no unit", fmt::format("{} {} takes one of {}", name[0] == 'a' ? "an" : "a",
                                                                  name, join(dimension_units(dimension)))};
  }
  // Division makes 92 % exactly 0.92; multiplication by 0.01 would not.
  const double result = symbol == "%" ? number / 100 : number * factor;
  if (auto problem = bounds_problem(whole, dimension, result)) return problem;
  value = result;
  return std::nullopt;
}

Bounds bounds_of(Dimension dimension) { return info(dimension).bounds; }

std::string format_quantity(double value, Dimension dimension) {
  if (value == 0) return fmt::format("0{}", dimension == Dimension::ratio ? "" : " " + dimension_units(dimension)[0]);
  const double size = std::abs(value);
  const Unit* best = nullptr;
  for (const Unit& unit : units()) {
    const bool usual = unit.dimension == dimension && unit.symbol != "%" && !unit.symbol.ends_with("Hz") &&
                       !unit.symbol.ends_with("b/s") && unit.symbol != "µs";
    if (!usual) continue;
    const bool is_binary = unit.symbol.find('i') != std::string::npos;
    const double count = size / unit.factor;
    if (is_binary && (count != std::floor(count) || count >= 1024)) continue;
    // A value that would be shown as 1000 GHz after rounding is shown as 1 THz.
    if (!best || count >= 1 || fmt::format("{:.6g}", count) == "1") best = &unit;
  }
  if (!best) return fmt::format("{:.6g}", value);
  return fmt::format("{:.6g} {}", value / best->factor, best->symbol);
}

std::string_view dimension_name(Dimension dimension) { return info(dimension).name; }

std::string_view dimension_example(Dimension dimension) { return info(dimension).example; }

std::vector<std::string> dimension_units(Dimension dimension) {
  switch (dimension) {
    case Dimension::time:
      return {"ps", "ns", "us", "ms", "s"};
    case Dimension::bytes:
      return {"B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"};
    case Dimension::bytes_per_second:
      return {"B/s", "MB/s", "GB/s", "TB/s", "MiB/s", "GiB/s", "TiB/s", "Mb/s", "Gb/s"};
    case Dimension::flop:
      return {"FLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
    case Dimension::flop_per_second:
      return {"FLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"};
    case Dimension::per_second:
      return {"/s", "k/s", "M/s", "G/s", "Hz", "kHz", "MHz", "GHz"};
    case Dimension::power:
      return {"W", "mW", "kW"};
    case Dimension::energy:
      return {"J", "fJ", "pJ", "nJ", "uJ", "mJ", "kJ"};
    case Dimension::ratio:
      return {"%"};
  }
  return {};
}

}  // namespace moire::config
