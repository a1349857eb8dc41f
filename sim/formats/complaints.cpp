#include "sim/formats/complaints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace moire::formats {

namespace {

constexpr int last = std::numeric_limits<int>::max();  // largest line and column

int within_int(std::uint64_t number) { return static_cast<int>(std::min<std::uint64_t>(number, last)); }

}  // namespace

Complaints::Complaints(const std::string& name, config::Diagnostics& diagnostics, Beyond beyond)
    : diagnostics_(diagnostics), source_(source_named(name)), beyond_(beyond) {}

Complaints::~Complaints() {
  for (auto& [kind, warning] : warnings_) {
    if (warning.others > 0) warning.what += fmt::format(" (and {} more like it)", warning.others);
    diagnostics_.warning(place(warning.at), std::move(warning.what), std::move(warning.remedy));
  }
  if (beyond_ == Beyond::unread || errors_ <= told) return;
  // The largest line number sorts this error after all other errors of the file.
  config::Place end{source_, last, 0};
  if (end.source) end.source = std::make_shared<config::Source>(config::Source{end.source->name, {}, false, {}});
  diagnostics_.error(end, fmt::format("{} more error{}", errors_ - told, errors_ - told == 1 ? "" : "s"),
                     "the first ones may be their cause");
}

config::Place Complaints::place(Position at) const { return {source_, within_int(at.line), within_int(at.col)}; }

void Complaints::error(const config::Place& place, std::string what, std::string remedy) {
  if (stopped_) return;
  if (!source_) source_ = place.source;
  if (++errors_ <= told) diagnostics_.error(place, std::move(what), std::move(remedy));
  if (beyond_ == Beyond::counted || errors_ < told) return;
  diagnostics_.error({place.source, place.line, std::max(place.col, 1)},
                     "too many errors; the rest of the file was not read");
  stopped_ = true;
}

void Complaints::error(Position at, std::string what, std::string remedy) {
  error(place(at), std::move(what), std::move(remedy));
}

void Complaints::error(std::int64_t line, std::size_t col, std::string what, std::string remedy) {
  error(config::Place{source_, within_int(static_cast<std::uint64_t>(line)), within_int(col)}, std::move(what),
        std::move(remedy));
}

void Complaints::fatal(std::int64_t line, std::size_t col, std::string what, std::string remedy) {
  error(line, col, std::move(what), std::move(remedy));
  stopped_ = true;
}

void Complaints::warning(const std::string& kind, Position at, std::string what, std::string remedy) {
  const auto [found, first] = warnings_.try_emplace(kind, Warning{at, std::move(what), std::move(remedy)});
  if (!first) ++found->second.others;
}

}  // namespace moire::formats
