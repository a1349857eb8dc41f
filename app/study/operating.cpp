#include "app/study/operating.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/study/child_run.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/log.hpp"

namespace moire::study {

namespace {

using power::OperatingPoint;
using Kind = OperatingPoint::Kind;

constexpr double close_enough = 5e-4;
constexpr double least_share = 0.05;  // lowest share of the clock if the GPU states none

std::string megahertz(PerSecond clock) { return fmt::format("{:.0f} MHz", clock.value / 1e6); }

std::optional<config::Problem> cannot_work(const OperatingPoint& point, const machine::GpuSpec& gpu) {
  const PerSecond top = gpu.compute.clock;
  if (point.sought() && !gpu.power) {
    return config::Problem{
        fmt::format("the file of {} does not state its power, so that its clock cannot follow a power limit", gpu.name),
        "use burst or {clock: ...}, or add `power` to the GPU (moire explain power)"};
  }
  const PerSecond lowest = gpu.power ? gpu.power->lowest_clock : top * least_share;
  if (point.kind == Kind::clock && (point.clock > top || point.clock < lowest)) {
    return config::Problem{fmt::format("{} cannot run at a clock of {}", gpu.name, megahertz(point.clock)),
                           fmt::format("write {} to {}", megahertz(lowest), megahertz(top))};
  }
  if (point.kind == Kind::power_cap && point.cap * gpu.power->held <= gpu.power->idle) {
    return config::Problem{
        fmt::format("{} draws {} when it is idle", gpu.name, config::format_quantity(gpu.power->idle)),
        "write a power limit that leaves power for work"};
  }
  if (point.kind == Kind::power_cap && point.cap > gpu.power->cap) {
    return config::Problem{
        fmt::format("{} has a power limit of {}", gpu.name, config::format_quantity(gpu.power->cap)),
        "write a lower one; if the GPU may draw more, set system.node.gpu.power.cap and use sustained"};
  }
  return std::nullopt;
}

}  // namespace

PreparedRunPtr with_operating_point(PreparedRunPtr run, const config::Node* stated, config::Diagnostics& diagnostics) {
  if (!run) return run;
  const config::Node& by_system = run->system->operating_point;
  const auto says = [](const config::Node& node) { return !node.is_null() || node.broken; };
  const config::Node* node = stated != nullptr && says(*stated) ? stated : says(by_system) ? &by_system : nullptr;
  if (node == nullptr) return run;
  const auto point = power::read_operating_point(*node, diagnostics);
  if (!point) return nullptr;
  if (const auto problem = cannot_work(*point, run->system->node.gpu)) {
    diagnostics.error(node->place, *problem);
    return nullptr;
  }
  auto own = std::make_shared<PreparedRun>(*run);
  own->operating = point;
  if (run->unperturbed) own->unperturbed = with_operating_point(run->unperturbed, node, diagnostics);
  return own;
}

PreparedRun at_clock(const PreparedRun& run, double share) {
  PreparedRun at = run;
  auto system = std::make_shared<libraries::EquippedSystem>(*run.system);
  system->operate_at(share);
  system->repeated = run.operating->repeats() && share < 1;  // at the full clock as in a burst
  at.system = std::move(system);
  at.machine = nullptr;
  return at;
}

PreparedRun held_at_clock(const PreparedRun& run, double share) {
  PreparedRun held = run;
  held.operating = OperatingPoint{
      .kind = Kind::clock, .clock = run.system->node.gpu.compute.clock * share, .held = run.operating->repeats()};
  return held;
}

RunResult steady_state(double lowest, const std::function<RunResult(double)>& at,
                       const std::function<Excess(const RunResult&, double)>& excess) {
  double low = lowest, high = 1;
  double over_high = 0, over_low = -1;  // largest excess of a limit at `high` and at `low`, if simulated there
  bool low_tried = false;
  const auto over = [&](const RunResult& run, double share) {
    const Excess of = excess(run, share);
    return std::max(of.power, of.clock) - 1;
  };
  RunResult best = at(1);
  if (!best.deadlock.empty()) return best;
  over_high = over(best, 1);
  if (over_high <= 0) return best;
  RunStats stats = best.stats;
  double share = std::max(lowest, 1 / (1 + over_high));
  for (int run = 0; run < 40; ++run) {
    best = at(share);
    stats.events += best.stats.events;
    stats.instants += best.stats.instants;
    stats.solves += best.stats.solves;
    const double here = over(best, share);
    core::log_info("at {:.4f} of the clock: {:.2f} % {} a limit", share, 100 * std::abs(here),
                   here > 0 ? "over" : "below");
    const bool done = std::abs(here) < close_enough || (here > 0 && share == lowest) || high - low < close_enough;
    if (done) break;
    if (here > 0) {
      high = share;
      over_high = here;
    } else {
      low = share;
      over_low = here;
      low_tried = true;
    }
    // Interpolates linearly between `low` and `high`, but keeps a distance from both, so that the interval always
    // shrinks. As long as `low` was not simulated, steps down from `high`.
    const double straight =
        low_tried ? low + (high - low) * (-over_low / (over_high - over_low)) : high * (1 - over_high / 2);
    const double margin = (high - low) / 16;
    share = low_tried ? std::clamp(straight, low + margin, high - margin) : std::max(lowest, straight);
  }
  best.stats = stats;
  return best;
}

RunResult at_operating_point(const PreparedRun& run,
                             const std::function<RunResult(const PreparedRun&, bool last)>& simulated, bool observed) {
  const OperatingPoint& point = *run.operating;
  const machine::GpuSpec& gpu = run.system->node.gpu;
  const PerSecond top = gpu.compute.clock;
  double share = point.kind == Kind::clock ? point.clock / top : 1;
  std::string by;
  RunResult result;
  if (!point.sought()) {
    result = simulated(at_clock(run, share), true);
  } else {
    const Watts cap = point.kind == Kind::power_cap ? point.cap : gpu.power->cap;
    const double held = gpu.power->held * cap.value;
    const auto excess = [&](const RunResult& at, double clock) {
      return Excess{at.hottest_watts / held, at.matrix_share * clock * clock / gpu.power->matrix_load};
    };
    double tried = 1;
    result = steady_state(
        gpu.power->lowest_clock / top,
        [&](double clock) {
          tried = clock;
          const PreparedRun at = at_clock(run, clock);
          return simulate_apart(at, [&] { return simulated(at, false); });
        },
        excess);
    share = tried;
    if (!result.deadlock.empty()) return result;
    const Excess last = excess(result, share);
    const bool capped = last.power >= last.clock;
    if (share < 1)
      by = capped ? fmt::format(", by the power limit of {}", config::format_quantity(cap))
                  : ", by the limit of the matrix units";
    if (last.power > 1 + 2 * close_enough)
      by += fmt::format("; the power limit cannot be kept: the mean power is {:.0f} W at the lowest clock",
                        result.hottest_watts);
    if (observed) {
      const RunStats stats = result.stats;
      result = simulated(at_clock(run, share), true);
      add(stats, result.stats);
    }
  }
  if (!result.deadlock.empty()) return result;
  result.clock_share = share;
  const char* const word = point.kind == Kind::burst   ? "burst"
                           : point.kind == Kind::clock ? "a fixed clock"
                                                       : "sustained";
  result.notes.push_back(fmt::format("operating point: {}, {}{}", word, megahertz(top * share), by));
  return result;
}

}  // namespace moire::study
