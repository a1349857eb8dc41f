#include "models/algorithms/msccl/complaints.hpp"

#include <fmt/format.h>

#include <limits>

namespace moire::msccl {

namespace {

constexpr std::size_t told = 20;

}  // namespace

std::string name_of(std::int64_t gpu) { return fmt::format("gpu {}", gpu); }
std::string name_of(std::int64_t gpu, std::int64_t block) { return fmt::format("gpu {}, tb {}", gpu, block); }
std::string name_of(std::int64_t gpu, std::int64_t block, std::int64_t step) {
  return fmt::format("gpu {}, tb {}, step {}", gpu, block, step);
}

Complaints::Complaints(const std::string& file, config::Diagnostics& diagnostics) : diagnostics_(diagnostics) {
  if (!file.empty()) source_ = std::make_shared<config::Source>(config::Source{file, {}, true, {}});
}

Complaints::~Complaints() {
  for (auto& [kind, warning] : warnings_) {
    if (warning.others > 0) warning.what += fmt::format(" (and {} more like it)", warning.others);
    diagnostics_.warning(place(warning.at), std::move(warning.what), std::move(warning.remedy));
  }
  if (errors_ <= told) return;
  // Behind all others in the file's order.
  config::Place end = place({});
  end.line = std::numeric_limits<int>::max();
  if (end.source) end.source = std::make_shared<config::Source>(config::Source{end.source->name, {}, false, {}});
  diagnostics_.error(end, fmt::format("{} more error{}", errors_ - told, errors_ - told == 1 ? "" : "s"),
                     "the first ones may be their cause");
}

config::Place Complaints::place(Spot at) const {
  return {source_, static_cast<int>(at.line), static_cast<int>(at.col)};
}

void Complaints::error(Spot at, std::string what, std::string remedy) {
  if (++errors_ <= told) diagnostics_.error(place(at), std::move(what), std::move(remedy));
}

void Complaints::warning(const std::string& kind, Spot at, std::string what, std::string remedy) {
  const auto [found, first] = warnings_.try_emplace(kind, Warning{at, std::move(what), std::move(remedy)});
  if (!first) ++found->second.others;
}

}  // namespace moire::msccl
