#include "models/hardware/cu/instructions.hpp"

#include <algorithm>

namespace moire::cu {

double issue_time(const CuArraySpec& compute, const program::PhaseShape& shape, double clock) {
  const program::Instructions& of = shape.instructions;
  if (of.all <= of.with_loads || !compute.issue_interval) return 0;
  const std::int64_t threads = shape.active_threads > 0 ? shape.active_threads : shape.threads;
  const double each = (of.all - of.with_loads) / static_cast<double>(compute.wavefronts(threads));
  return each * *compute.issue_interval / (compute.clock.value * clock);
}

double wait_for_slots(const CuArraySpec& compute, const program::PhaseShape& shape, double share, double time,
                      double clock, std::uint32_t workgroups) {
  const program::Instructions& of = shape.instructions;
  if (of.all <= 0 || !compute.issue_per_clock) return 0;
  const double hertz = compute.clock.value * clock;
  const double slots = share * of.all / (*compute.issue_per_clock * hertz);
  const double units = compute.integer_per_clock ? share * of.integer / (*compute.integer_per_clock * hertz) : 0;
  // A lone wavefront uses the slots of one scheduler, of which a CU has one for each instruction per clock.
  const double longest = 1 + of.lone / of.all * (std::max(1.0, *compute.issue_per_clock) - 1);
  const double alone = std::max({time, slots, units});
  double slot_queue = 0;
  double unit_queue = 0;
  double wait = alone - time;
  for (std::uint32_t together = 1; together < workgroups; ++together) {
    const double rounds = together / (time + wait);  // per second, of all workgroups
    slot_queue = rounds * slots * (1 + slot_queue);
    unit_queue = rounds * units * (1 + unit_queue);
    wait = alone - time + longest * (slots * slot_queue + units * unit_queue);
  }
  return wait;
}

}  // namespace moire::cu
