#include "sim/core/load_history.hpp"

#include <algorithm>

namespace moire::core {

void LoadHistory::change(Time now, double units_per_second) {
  if (!pieces_.empty() && pieces_.back().load == units_per_second) return;
  const double served_now = served(now);
  if (!pieces_.empty() && pieces_.back().from == now) pieces_.pop_back();
  while (pieces_.size() > 1 && pieces_[1].from + window_ <= now) pieces_.pop_front();
  pieces_.push_back({now, units_per_second, served_now});
}

double LoadHistory::served(Time at) const {
  const auto later = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                      [](Time time, const Piece& piece) { return time < piece.from; });
  if (later == pieces_.begin()) return 0;
  const Piece& piece = *(later - 1);
  return piece.served + piece.load * (at - piece.from).seconds();
}

}  // namespace moire::core
