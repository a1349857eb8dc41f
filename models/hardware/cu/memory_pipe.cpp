#include "models/hardware/cu/memory_pipe.hpp"

#include <algorithm>
#include <cmath>

namespace moire::cu {

std::optional<MemoryPipe::Filling> MemoryPipe::begin(core::CapacityId memory, double latency, std::uint64_t kind) {
  core::Sharing& sharing = site_.sharing();
  const Time now = site_.loop().now();
  const Time window = Time::from_seconds(latency);
  sharing.watch(memory, std::max(longest_, window));
  const double rate = sharing.capacity(memory).rate;
  const double served = sharing.served_until(memory, now);
  double missing = latency;
  // If nothing loads now, the bytes served before belong to phases that have ended, and arrive at none of those to
  // come.
  if (sharing.load(memory) > 0) missing -= (served - sharing.served_until(memory, now - window)) / rate;
  if (const auto found = draining_.find(kind); found != draining_.end()) {
    const Time from = std::max(found->second.from, now - window), to = std::min(found->second.to, now);
    if (to > from) missing -= (to - from).seconds();
  }
  if (missing < 1e-12) return std::nullopt;  // less than a picosecond
  return Filling{now, missing, served};
}

Time MemoryPipe::rest(core::CapacityId memory, const Filling& filling, std::uint64_t kind) {
  const core::Sharing& sharing = site_.sharing();
  const Time now = site_.loop().now();
  const double served = sharing.served_until(memory, now) - filling.served;
  const double unused = (now - filling.begin).seconds() - served / sharing.capacity(memory).rate;
  // Rounded up as the ends of activities are, but for numerical noise.
  const Time after = Time::from_ps(std::ceil((filling.missing - unused) * 1e12 - 1e-3));
  if (after.ps <= 0) return Time{};
  Draining& draining = draining_[kind];
  if (now > draining.to) draining.from = now;
  draining.to = std::max(draining.to, now + after);
  return after;
}

}  // namespace moire::cu
