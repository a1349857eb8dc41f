#include "models/hardware/cu/dispatcher.hpp"

#include <algorithm>

namespace moire::cu {

std::uint32_t Dispatcher::add_mask(const std::vector<CuId>& cus) {
  if (cus.empty()) return 0;
  CuArray::Mask mask(array_.cus());
  for (const CuId cu : cus) mask[cu] = true;
  const auto known = std::find(masks_.begin(), masks_.end(), mask);
  if (known != masks_.end()) return static_cast<std::uint32_t>(known - masks_.begin());
  masks_.push_back(std::move(mask));
  return static_cast<std::uint32_t>(masks_.size() - 1);
}

void Dispatcher::add(const Grid& grid) {
  if (grid.workgroups == 0) return;
  const auto behind = std::find_if(queue_.begin(), queue_.end(),
                                   [&](const Queued& other) { return other.grid.priority < grid.priority; });
  queue_.insert(behind, {grid, 0, {}, false, {}});
  find_free_ground();
}

bool Dispatcher::place_cluster(Queued& queued, std::uint32_t group, bool first_filled, std::vector<Placement>& placed) {
  where_.clear();
  const std::int64_t size = std::min(queued.grid.cluster, queued.grid.workgroups - queued.next);
  const CuArray::Mask& mask = queued.ground;
  const Footprint& footprint = queued.grid.footprint;
  if (!first_filled && !queued.emptiest) queued.emptiest = array_.least_resident(footprint, size, mask);
  const bool done = first_filled ? array_.place_on_first_filled(group, footprint, where_, mask)
                                 : array_.place(group, footprint, size, where_, mask, *queued.emptiest);
  if (!done) return false;
  for (const CuId cu : where_) placed.push_back({queued.grid.id, queued.next++, cu});
  return true;
}

// Finds the CUs that each waiting grid may use: those of its mask that are in no mask of an earlier grid.
void Dispatcher::find_free_ground() {
  CuArray::Mask wanted(array_.cus());  // CUs in masks of earlier grids
  bool all = false;
  for (Queued& queued : queue_) {
    const CuArray::Mask& mask = masks_[queued.grid.mask];
    queued.emptiest.reset();
    queued.blocked = all;
    if (all) continue;
    const bool first = &queued == &queue_.front();
    all = mask.empty();
    queued.ground = mask;
    if (!first && mask.empty()) queued.ground.assign(array_.cus(), true);
    queued.blocked = !first;
    for (CuId cu = 0; !first && cu < array_.cus(); ++cu) {
      if (wanted[cu]) queued.ground[cu] = false;
      if (queued.ground[cu]) queued.blocked = false;
    }
    for (CuId cu = 0; !all && cu < array_.cus(); ++cu) {
      if (mask[cu]) wanted[cu] = true;
    }
  }
}

void Dispatcher::place(std::vector<Placement>& placed) {
  for (Queued& queued : queue_) queued.emptiest.reset();
  // Tries the CUs that are filled first (CuGroupSpec::filled_first). If they get a workgroup, the turn ends.
  for (const bool first_filled : {true, false}) {
    const std::size_t before = placed.size();
    for (const std::uint32_t group : array_.visiting_order()) {
      if (queue_.empty()) return;
      for (std::size_t i = 0; i < queue_.size(); ++i) {
        Queued& queued = queue_[i];
        if (queued.blocked || (first_filled && queued.grid.cluster > 1)) continue;
        if (!place_cluster(queued, group, first_filled, placed)) continue;
        if (queued.next == queued.grid.workgroups) {
          queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
          find_free_ground();
        }
        break;
      }
    }
    if (placed.size() > before) return;
  }
}

std::vector<Dispatcher::Head> Dispatcher::waiting() const {
  std::vector<Head> heads;
  for (const Queued& queued : queue_) heads.push_back({queued.grid.id, queued.grid.workgroups - queued.next});
  return heads;
}

}  // namespace moire::cu
