// The part of class Sharing that counts: the meters, and the units that capacities have served.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/invariant.hpp"
#include "sim/core/sharing.hpp"

namespace moire::core {

void Sharing::watch(CapacityId id, Time window) {
  if (capacities_[id].history) return capacities_[id].history->look_back(window);
  watches_ = true;
  for (CapacityId other = 0; other < capacities_.size(); ++other) {
    Capacity& capacity = capacities_[other];
    if (capacity.kind != capacities_[id].kind || capacity.history) continue;
    capacity.history = std::make_unique<LoadHistory>();
    capacity.history->change(loop_.now() - window, load(other));
    capacity.history->look_back(window);
  }
}

MeterId Sharing::add_meter(MeterSpec spec) {
  meters_.push_back({std::move(spec)});
  return static_cast<MeterId>(meters_.size() - 1);
}

void Sharing::add_level(MeterId id, double units_per_second) {
  Meter& meter = meters_[id];
  meter.counted = counted(id);
  meter.since = loop_.now();
  meter.level += units_per_second;
  if (!meter.changed) changed_meters_.push_back(id);
  meter.changed = true;
}

double Sharing::counted(MeterId id) const {
  const Meter& meter = meters_[id];
  return meter.counted + meter.level * (loop_.now() - meter.since).seconds();
}

void Sharing::set_meters(Class& c) {
  if (c.spec.metered.empty()) return;
  const double now = c.rate * c.members;
  const double more = now - c.on_meters;
  if (more == 0) return;
  c.on_meters = now;
  for (const Metered& metered : c.spec.metered) add_level(metered.meter, metered.per_work * more);
}

// Counts the present rate of a class as another class would. Called before its numbers change.
void Sharing::change_meters(const Class& c, const ClassSpec& to) {
  if (c.on_meters == 0 || to.metered == c.spec.metered) return;
  for (const Metered& metered : c.spec.metered) add_level(metered.meter, -metered.per_work * c.on_meters);
  for (const Metered& metered : to.metered) add_level(metered.meter, metered.per_work * c.on_meters);
}

void Sharing::settle_meters() {
  for (const MeterId id : changed_meters_) {
    Meter& meter = meters_[id];
    meter.changed = false;
    meter.highest = std::max(meter.highest, meter.level);
    if (observer_ != nullptr) observer_->meter_level(id, loop_.now(), meter.level);
  }
  changed_meters_.clear();
}

std::vector<double> Sharing::served() const {
  std::vector<double> units(capacities_.size(), 0);
  for (std::size_t id = 0; id < units.size(); ++id) units[id] = capacities_[id].elsewhere;
  for (const Class& c : classes_) {
    for (const Demand& demand : c.spec.demands) units[demand.capacity] += demand.per_work * c.progressed;
  }
  return units;
}

double Sharing::served(CapacityId id) const {
  double units = capacities_[id].elsewhere;
  for (const Class& c : classes_) {
    for (const Demand& demand : c.spec.demands) {
      if (demand.capacity == id) units += demand.per_work * c.progressed;
    }
  }
  return units;
}

void Sharing::check_conservation() const {
  for (std::size_t id = 0; id < classes_.size(); ++id) {
    const Class& c = classes_[id];
    double rest = 0;
    c.due_members.for_each([&](const Member& m) {
      if (c.members == 0 || stale(m)) return;
      if (m.id & bundle_flag) {
        const Bundle& bundle = bundles_[m.id & ~bundle_flag];
        rest += bundle.finishes - static_cast<double>(bundle.due_members.size()) * (c.virtual_clock + bundle.ahead);
      } else {
        rest += m.finish - c.virtual_clock;
      }
    });
    MOIRE_INVARIANT(
        std::abs(c.started - c.progressed - rest) <= 1e-6 * std::max(1.0, c.started),
        fmt::format("class {} took on {} units of work, did {} and has {} left", id, c.started, c.progressed, rest));
  }
}

}  // namespace moire::core
