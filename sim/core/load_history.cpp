#include "sim/core/load_history.hpp"

#include <algorithm>

namespace moire::core {

void LoadHistory::change(Time now, double units_per_second) {
  double served_now = 0;
  if (!pieces_.empty()) {
    const Piece& last = pieces_.back();
    if (last.load == units_per_second) return;
    served_now = last.served + last.load * (now - last.from).seconds();
    if (last.from == now) pieces_.pop_back();
  }
  while (first_ + 1 < pieces_.size() && pieces_[first_ + 1].from + window_ <= now) ++first_;
  if (2 * first_ > pieces_.size()) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  pieces_.push_back({now, units_per_second, served_now});
}

double LoadHistory::served(Time at) const {
  const auto first = pieces_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto later =
      std::upper_bound(first, pieces_.end(), at, [](Time time, const Piece& piece) { return time < piece.from; });
  if (later == first) return 0;
  const Piece& piece = *(later - 1);
  return piece.served + piece.load * (at - piece.from).seconds();
}

}  // namespace moire::core
