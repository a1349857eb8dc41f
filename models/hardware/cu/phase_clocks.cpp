// The clocks of GPUs, which matrix arithmetic lowers as soon as it begins, and the classes that depend on them.
#include <algorithm>
#include <cmath>

#include "models/hardware/cu/phase_runner.hpp"

namespace moire::cu {

namespace {

// Step of Clock::share. Without steps, every workgroup that starts or ends would change all classes of its GPU. Rates
// are proportional to the clock, so their relative error is at most one step.
constexpr double clock_step = 0.01;
// Corrections of a clock in one instant. A clock that falls lowers the traffic, which raises the clock by less than a
// third as much, so that two corrections leave less than a step.
constexpr int most_corrections = 2;
// Dips of less than this share of clock_dip_time are shorter than the stores between two waves of tiles.
constexpr double least_dip = 0.1;
// Power of less than this many CUs is a rounding error.
constexpr double no_power = 1e-9;

}  // namespace

void PhaseRunner::mark_clock(std::uint32_t number) {
  Clock& clock = clocks_[number];
  if (!clock.changed) changed_clocks_.push_back(number);
  clock.changed = true;
  if (!clock.touched) touched_clocks_.push_back(number);
  clock.touched = true;
}

// Called when matrix arithmetic begins on a GPU that had none. The clock then dips after clock_dip_delay. The dip lasts
// clock_dip_time, or as long as the GPU had no matrix arithmetic, if this is shorter, and ends at the same time. Before
// the dip, only the power of the arithmetic lowers the full clock.
void PhaseRunner::expect_dip(std::uint32_t number) {
  Clock& clock = clocks_[number];
  if (!has_begin_) return;
  const Time now = site_.loop().now();
  const Time without = clock.ended ? std::min(now - *clock.ended, compute_.clock_dip_time) : compute_.clock_dip_time;
  if (without.seconds() < least_dip * compute_.clock_dip_time.seconds()) return;
  const Time until = now + compute_.clock_dip_delay + compute_.clock_dip_time;
  clock.dips.push_back({until - without, until});
  clock.memory_from = operation_.slowed ? now : now + std::min(without, compute_.clock_dip_delay);
  const Time from = clock.dips.back().from;
  if (clock.memory_from != from) site_.loop().calendar().schedule(clock.memory_from, after_sharing_, number);
  for (const Time change : {from, until}) site_.loop().calendar().schedule(change, after_sharing_, number);
}

bool PhaseRunner::dips(Clock& clock) {
  const Time now = site_.loop().now();
  std::erase_if(clock.dips, [&](const Dip& dip) { return dip.until <= now; });
  return std::ranges::any_of(clock.dips, [&](const Dip& dip) { return dip.from <= now; });
}

// A workgroup on `unit` begins a phase (sign 1) or ends it (-1). Workgroups of one CU take turns on its arithmetic
// units, so together they draw at most the power of one CU (1).
void PhaseRunner::add_power(Unit& unit, std::uint32_t number, const program::PhaseShape& shape, int sign) {
  Clock& clock = clocks_[number];
  const double before = std::min(1.0, unit.power);
  unit.power += sign * shape.power;
  clock.power += std::min(1.0, unit.power) - before;
  const bool matrix = shape.flop > 0 && shape.unit == program::Arithmetic::matrix_16bit;
  if (matrix) {
    if (clock.matrix == 0) expect_dip(number);
    clock.matrix += static_cast<std::uint32_t>(sign);
    if (clock.matrix == 0) clock.ended = site_.loop().now();
  }
  // Any phase may change the traffic, which matters while matrix arithmetic is at work.
  if (matrix || clock.power > no_power) mark_clock(number);
}

void PhaseRunner::traffic_changes(part::Rank rank) {
  for (std::uint32_t number = rank; number < clocks_.size(); number += site_.ranks())
    if (clocks_[number].power > no_power) mark_clock(number);
}

// Returns the power of the traffic of a clock's GPU, in CUs. In the memory, a stored byte counts as many bytes as it
// takes time. If every queue has its own clock, this is the traffic of the phases of this queue.
double PhaseRunner::traffic_power(std::uint32_t number) {
  if (drains_.empty()) {
    for (part::Rank rank = 0; rank < site_.ranks(); ++rank) {
      std::vector<Drain>& of_rank = drains_.emplace_back();
      for (const part::Shared* shared : site_.shared()) {
        for (const core::CapacityId memory : shared->memories(rank))
          of_rank.push_back({memory, operation_.memory_byte, true});
        for (const core::CapacityId wire : shared->wires(rank)) of_rank.push_back({wire, operation_.link_byte, false});
      }
    }
  }
  const core::Sharing& sharing = site_.sharing();
  double power = 0;
  const bool early = clocks_[number].memory_from > site_.loop().now();
  for (const Drain& drain : drains_[number % site_.ranks()]) {
    if (drain.memory && early) continue;
    if (!own_clock_) {
      power += drain.power * sharing.load(drain.capacity);
      continue;
    }
    for (const core::ClassId id : gpus_[number].classes) {
      for (const core::Demand& demand : sharing.spec(id).demands)
        if (demand.capacity == drain.capacity)
          power += drain.power * demand.per_work * sharing.rate_of(id) * sharing.members(id);
    }
  }
  return power;
}

// Returns the clock for the present power, as a fraction of the highest clock. A clock below the highest clock is a
// multiple of clock_step. It changes only if it is off by clock_step or more, or if it can be the highest clock again.
double PhaseRunner::clock_now(std::uint32_t number) {
  Clock& clock = clocks_[number];
  if (clock.power <= no_power) return 1;
  // A CU of a GPU with a lower clock draws less, so that a byte draws more in comparison.
  const double own_clock = part::Uneven::share(site_.uneven().clock, number % site_.ranks());
  const double traffic = operation_.traffic_counts() ? traffic_power(number) / own_clock : 0;
  double exact = clock_share(compute_, clock.power + traffic);
  if (!clock.dips.empty() && dips(clock)) {
    const double left = 1 - compute_.clock_dip * clock.power / static_cast<double>(cus_);
    exact = operation_.slowed ? std::min(exact, left) : exact * left;
  }
  const double steps = std::round(exact / clock_step);
  const double share = exact == 1 || steps == 0 ? exact : clock_step * steps;
  return share < 1 && std::abs(exact - clock.share) < clock_step ? clock.share : share;
}

// Updates the clocks of GPUs whose power has changed.
void PhaseRunner::set_clocks() {
  for (const std::uint32_t number : changed_clocks_) {
    Clock& clock = clocks_[number];
    clock.changed = false;
    const double share = clock_now(number);
    const bool beside_matrix = clock.matrix > 0;
    if (share == clock.share && beside_matrix == clock.beside_matrix) continue;
    clock.share = share;
    clock.beside_matrix = beside_matrix;
    if (auto* meters = site_.find<part::Meters>()) meters->clock_left(number % site_.ranks(), share);
    // If every queue has CUs of its own but all queues share the clock, the GPU has an entry for each queue.
    for (std::uint32_t gpu = number; gpu < gpus_.size(); gpu += static_cast<std::uint32_t>(clocks_.size()))
      mark_gpu(gpu);
  }
  changed_clocks_.clear();
}

// Lets the instant settle once more if the traffic, which is known now, gives a GPU another clock.
void PhaseRunner::check_clocks() {
  bool again = false;
  for (const std::uint32_t number : touched_clocks_) {
    Clock& clock = clocks_[number];
    if (clock.corrections == most_corrections || clock_now(number) == clock.share) continue;
    ++clock.corrections;
    again = true;
    site_.loop().calendar().schedule(site_.loop().now(), after_sharing_, number);
  }
  if (again) return;  // the next round of this instant comes here again
  for (const std::uint32_t number : touched_clocks_) {
    clocks_[number].touched = false;
    clocks_[number].corrections = 0;
  }
  touched_clocks_.clear();
}

// Updates the numbers of the classes of GPUs whose clock has changed or whose workgroups that load in step.
void PhaseRunner::follow_gpus() {
  for (const std::uint32_t number : changed_gpus_) {
    Gpu& gpu = gpus_[number];
    gpu.changed = false;
    gpu.told = gpu.in_step;
    std::erase_if(gpu.classes, [this](core::ClassId id) {
      made_[id].listed = site_.sharing().members(id) > 0;
      if (made_[id].listed) refresh(id);
      return !made_[id].listed;
    });
  }
  changed_gpus_.clear();
}

void PhaseRunner::mark_gpu(std::uint32_t gpu) {
  if (!gpus_[gpu].changed) changed_gpus_.push_back(gpu);
  gpus_[gpu].changed = true;
}

// Gives a class the numbers for the present state of its GPU.
void PhaseRunner::refresh(core::ClassId id) {
  Made& made = made_[id];
  const CuLoad load = load_now(made.key);
  const double held = held_for(shapes_[made.key.shape], load.in_step);
  if (made.clock == load.clock && made.beside_matrix == load.beside_matrix && made.held == held) return;
  made.clock = load.clock;
  made.beside_matrix = load.beside_matrix;
  made.held = held;
  site_.sharing().change_class(id, spec_of(made.key, load));
}

}  // namespace moire::cu
