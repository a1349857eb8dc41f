#include "models/cu/dispatcher.hpp"

#include <algorithm>

namespace moire::models::cu {

void Dispatcher::add(const Grid& grid) {
  if (grid.workgroups == 0) return;
  const auto behind = std::find_if(queue_.begin(), queue_.end(),
                                   [&](const Queued& other) { return other.grid.priority < grid.priority; });
  queue_.insert(behind, {grid, 0});
}

bool Dispatcher::place_cluster(Queued& queued, std::uint32_t group, bool first_filled, std::vector<Placement>& placed) {
  where_.clear();
  const std::int64_t size = std::min(queued.grid.cluster, queued.grid.workgroups - queued.next);
  const bool done = first_filled ? array_.place_on_first_filled(group, queued.grid.footprint, where_)
                                 : array_.place(group, queued.grid.footprint, size, where_);
  if (!done) return false;
  for (const CuId cu : where_) placed.push_back({queued.grid.id, queued.next++, cu});
  return true;
}

void Dispatcher::place(std::vector<Placement>& placed) {
  // A turn in which a group of "filled first" CUs still has an empty one serves only those.
  for (const bool first_filled : {true, false}) {
    const std::size_t before = placed.size();
    for (const std::uint32_t group : array_.visiting_order()) {
      if (queue_.empty()) return;
      Queued& head = queue_.front();
      if (first_filled && head.grid.cluster > 1) break;
      place_cluster(head, group, first_filled, placed);
      if (head.next == head.grid.workgroups) queue_.erase(queue_.begin());
    }
    if (placed.size() > before) return;
  }
}

std::vector<Dispatcher::Head> Dispatcher::waiting() const {
  std::vector<Head> heads;
  for (const Queued& queued : queue_) heads.push_back({queued.grid.id, queued.grid.workgroups - queued.next});
  return heads;
}

}  // namespace moire::models::cu
