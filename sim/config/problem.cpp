#include "sim/config/problem.hpp"

#include <algorithm>

namespace moire::config {

void report_problem(const std::string& problem, const Place& place, Diagnostics& diagnostics) {
  const std::size_t cut = std::min(problem.find("; "), problem.size());
  diagnostics.error(place, problem.substr(0, cut), cut < problem.size() ? problem.substr(cut + 2) : "");
}

}  // namespace moire::config
