#include "models/workload/collective/algorithms.hpp"

#include <bit>

namespace moire::collective {

double even_traffic(Kind kind, double ranks, double bytes) {
  switch (kind) {
    case Kind::all_gather:
      return (ranks - 1) * bytes;
    case Kind::all_reduce:
      return 2 * bytes * (ranks - 1) / ranks;
    case Kind::broadcast:
      return bytes;
    default:
      return bytes * (ranks - 1) / ranks;
  }
}

double doublings(std::int64_t n) { return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(n) - 1)); }

}  // namespace moire::collective
