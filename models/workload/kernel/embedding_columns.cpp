#include "models/workload/kernel/embedding_columns.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "models/hardware/link/stripes.hpp"

namespace moire::kernel {

namespace {

// Share of the workgroups that have done fewer than `task` tasks, if what they have done is spread evenly over `done`
// +- `reach`. (The C library's functions of a normal distribution may give other digits on another machine.)
double share_before(double task, double done, double reach) {
  return std::clamp((task - done + reach) / (2 * reach), 0.0, 1.0);
}

// What workgroups have done is spread evenly over this share below and above the mean. An even spread with standard
// deviation s reaches from -sqrt(3) s to sqrt(3) s.
double reach_of(const ResultColumns& results) { return std::min(0.9, std::sqrt(3.0) * results.progress_spread); }

// Sets tables[t] to the share of the workgroups that store to table t while the mean workgroup does its task number
// `done`.
void spread(double done, const ResultColumns& results, std::vector<double>& tables) {
  constexpr double wide = 8;  // tasks; the borders between tasks can then be neglected
  const double per_round = results.tables_per_round;
  const auto count = static_cast<double>(tables.size());
  const double reach = std::max(reach_of(results) * done, 1e-6);
  const double first = std::floor(std::max(0.0, done - reach)), last = done + reach;
  std::fill(tables.begin(), tables.end(), 0);
  if (reach > wide) {
    for (double table = std::floor(first * per_round); table < std::min(count, last * per_round); ++table)
      tables[static_cast<std::size_t>(table)] =
          share_before((table + 1) / per_round, done, reach) - share_before(table / per_round, done, reach);
    return;
  }
  for (double task = first; task <= last && task * per_round < count; ++task) {
    const double share = share_before(task + 1, done, reach) - (task > 0 ? share_before(task, done, reach) : 0);
    const double from = task * per_round, to = std::min(count, from + per_round);
    for (double table = std::floor(from); table < to; ++table)
      tables[static_cast<std::size_t>(table)] += share / per_round * (std::min(table + 1, to) - std::max(table, from));
  }
}

}  // namespace

double mean_link_cost(const link::PortSpec& port, const ResultColumns& results) {
  const std::int64_t row = results.ranks * results.tables * results.vector_bytes;
  if (link::strides_evenly(port, row)) return 1;
  const auto turn = static_cast<std::int64_t>(port.stripe.value) * port.stripe_ways;
  std::set<std::int64_t> begins;  // of the first table of a rank
  for (std::int64_t gpu = 0; gpu < results.gpus; ++gpu)
    begins.insert(gpu * results.tables * results.vector_bytes % turn);
  // When the slowest workgroup ends its last task, the mean workgroup has done this many.
  const double rounds =
      std::ceil(static_cast<double>(results.tables) / results.tables_per_round) / (1 - reach_of(results));
  constexpr double points_per_round = 8, most_points = 512;  // a mean of more points differs by at most 0.2 %
  const double points = std::ceil(std::min(most_points, points_per_round * rounds));
  std::vector<double> tables(static_cast<std::size_t>(results.tables));
  double bytes = 0, time = 0;
  for (const std::int64_t begin : begins) {
    std::vector<link::StripedBytes> columns;
    for (std::int64_t table = 0; table < results.tables; ++table) {
      columns.emplace_back(port, row);
      columns.back().add(begin + table * results.vector_bytes, results.vector_bytes, 1);
    }
    for (double point = 0.5; point < points; ++point) {
      spread(point / points * rounds, results, tables);
      link::StripedBytes stored(port, row);
      for (std::size_t table = 0; table < tables.size(); ++table) stored.add(columns[table], tables[table]);
      bytes += stored.bytes();
      time += stored.time();
    }
  }
  return time / bytes;
}

}  // namespace moire::kernel
