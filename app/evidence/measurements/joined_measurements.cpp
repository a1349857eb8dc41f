// Joins several measurements files, because a later and smaller file may add benchmarks to an earlier file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::measurements {

namespace {

// Benchmarks that every file contains, because they describe the machine. Only their rows may be repeated.
constexpr std::array<std::string_view, 3> repeated = {"property", "timer", "power"};
constexpr std::size_t most_errors = 20;

using Key = std::tuple<std::string, Parameters, std::string>;
Key key(const MeasuredValue& value) { return {value.benchmark, value.parameters, value.metric}; }

// Returns the position of a header value. Lines '# name: value' begin at line 2 of the file. Line 1 names the format.
config::Place header_place(const Measurements& measurements, std::string_view name) {
  int line = 2;
  for (const auto& [own, text] : measurements.header) {
    if (own == name) return {measurements.source, line, static_cast<int>(name.size()) + 5};
    ++line;
  }
  return {measurements.source, 0, 0};
}

}  // namespace

void join(Measurements& first, Measurements later, config::Diagnostics& diagnostics) {
  if (later.gpu != first.gpu) {
    diagnostics.error(header_place(later, "gpu"),
                      fmt::format("this was measured on {}, but the first file on {}", config::in_quotes(later.gpu),
                                  config::in_quotes(first.gpu)),
                      "join files of one kind of GPU");
    return;
  }
  std::map<Key, config::Place> known;
  for (const MeasuredValue& value : first.values) known.emplace(key(value), first.place(value));
  first.later.push_back(later.collection(0));
  std::size_t errors = 0;
  for (MeasuredValue& value : later.values) {
    value.file = first.later.size();
    const auto there = known.find(key(value));
    if (there == known.end()) {
      first.values.push_back(std::move(value));
      continue;
    }
    if (std::find(repeated.begin(), repeated.end(), value.benchmark) != repeated.end()) continue;
    if (errors++ == most_errors) {
      diagnostics.error(first.place(value), "too many errors; the rest of the file was not joined");
      return;
    }
    diagnostics.error(
        first.place(value),
        fmt::format("{} of {} was already measured in {}", value.metric, value.benchmark, there->second.str()),
        "remove one of the two rows");
  }
}

std::optional<Measurements> load_joined(const std::vector<std::string>& files, config::Diagnostics& diagnostics) {
  std::optional<Measurements> joined;
  for (const std::string& file : files) {
    auto measurements = load_measurements(file, diagnostics);
    if (!measurements) continue;  // check the other files, too
    if (joined) {
      join(*joined, std::move(*measurements), diagnostics);
    } else {
      joined = std::move(measurements);
    }
  }
  if (!diagnostics.ok()) return std::nullopt;
  return joined;
}

}  // namespace moire::measurements
