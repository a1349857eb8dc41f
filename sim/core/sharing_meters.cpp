// Meters: levels that activities add, and levels that are added directly.
#include <algorithm>

#include "sim/core/sharing.hpp"

namespace moire::core {

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

void Sharing::settle_meters() {
  for (const MeterId id : changed_meters_) {
    Meter& meter = meters_[id];
    meter.changed = false;
    meter.highest = std::max(meter.highest, meter.level);
    if (observer_ != nullptr) observer_->meter_level(id, loop_.now(), meter.level);
  }
  changed_meters_.clear();
}

}  // namespace moire::core
