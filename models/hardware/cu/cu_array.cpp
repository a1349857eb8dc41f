#include "models/hardware/cu/cu_array.hpp"

#include <algorithm>

namespace moire::cu {

CuArray::CuArray(const CuArraySpec& spec)
    : limits_{spec.threads_per_cu, spec.registers_per_cu, spec.lds_per_cu.value},
      max_resident_(static_cast<std::uint32_t>(spec.workgroups_per_cu)) {
  for (const CuGroupSpec& kind : spec.groups) {
    for (std::int64_t copy = 0; copy < kind.count; ++copy) {
      Group group;
      group.begin = cus();
      group.end = group.begin + static_cast<CuId>(kind.cus);
      group.first_filled = group.end - static_cast<CuId>(kind.filled_first);
      const auto number = static_cast<std::uint32_t>(groups_.size());
      for (CuId cu = group.begin; cu < group.end; ++cu) units_.push_back({number, 0, {}});
      groups_.push_back(group);
    }
  }
  for (const bool filled_first : {true, false}) {
    for (std::uint32_t g = 0; g < groups(); ++g) {
      if ((groups_[g].first_filled < groups_[g].end) == filled_first) order_.push_back(g);
    }
  }
}

bool CuArray::fits(const Unit& unit, const Footprint& footprint) const {
  return unit.resident < max_resident_ && unit.used.threads + footprint.threads <= limits_.threads &&
         unit.used.registers + footprint.registers <= limits_.registers && unit.used.lds + footprint.lds <= limits_.lds;
}

void CuArray::take(CuId cu, const Footprint& footprint) {
  Unit& unit = units_[cu];
  ++unit.resident;
  unit.used.threads += footprint.threads;
  unit.used.registers += footprint.registers;
  unit.used.lds += footprint.lds;
}

void CuArray::release(CuId cu, const Footprint& footprint) {
  Unit& unit = units_[cu];
  --unit.resident;
  unit.used.threads -= footprint.threads;
  unit.used.registers -= footprint.registers;
  unit.used.lds -= footprint.lds;
}

std::uint32_t CuArray::least_resident(const Footprint& footprint, std::int64_t size, const Mask& mask) {
  std::uint32_t least = UINT32_MAX;
  for (std::uint32_t group = 0; group < groups() && least > 0; ++group) {
    tried_.clear();
    if (!place(group, footprint, size, tried_, mask)) continue;
    std::uint32_t most = 0;  // largest number of workgroups that a CU had just before it got one of the cluster
    for (; !tried_.empty(); tried_.pop_back()) {
      release(tried_.back(), footprint);
      most = std::max(most, units_[tried_.back()].resident);
    }
    least = std::min(least, most);
  }
  return least;
}

bool CuArray::place(std::uint32_t group, const Footprint& footprint, std::int64_t size, std::vector<CuId>& where,
                    const Mask& mask, std::uint32_t resident) {
  const std::size_t before = where.size();
  for (std::int64_t i = 0; i < size; ++i) {
    CuId best = groups_[group].end;
    std::uint32_t least = std::min(resident, max_resident_ - 1) + 1;  // the next CU must have fewer workgroups
    for (CuId cu = groups_[group].begin; cu < groups_[group].end && least > 0; ++cu) {
      if (units_[cu].resident >= least || (!mask.empty() && !mask[cu]) || !fits(units_[cu], footprint)) continue;
      best = cu;
      least = units_[cu].resident;
    }
    if (best == groups_[group].end) {
      while (where.size() > before) {
        release(where.back(), footprint);
        where.pop_back();
      }
      return false;
    }
    take(best, footprint);
    where.push_back(best);
  }
  return true;
}

bool CuArray::place_on_first_filled(std::uint32_t group, const Footprint& footprint, std::vector<CuId>& where,
                                    const Mask& mask) {
  for (CuId cu = groups_[group].first_filled; cu < groups_[group].end; ++cu) {
    if ((!mask.empty() && !mask[cu]) || units_[cu].resident > 0 || !fits(units_[cu], footprint)) continue;
    take(cu, footprint);
    where.push_back(cu);
    return true;
  }
  return false;
}

}  // namespace moire::cu
