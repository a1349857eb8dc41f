#include "models/workload/kernel/embedding_columns.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
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

// What workgroups have done is spread evenly over this many tasks below and above the mean `done`. An even spread with
// standard deviation s reaches from -sqrt(3) s to sqrt(3) s.
double reach_of(const ResultColumns& results, double done) {
  return std::min(done, std::sqrt(3.0 * done) * results.progress_spread);
}

// Returns what the mean workgroup has done when the slowest has done `tasks`.
double mean_when_slowest(const ResultColumns& results, double tasks) {
  // The solution of done - reach_of(done) = tasks.
  const double half = std::sqrt(3.0) * results.progress_spread / 2;
  return tasks + 2 * half * (half + std::sqrt(half * half + tasks));
}

// Workgroups that have done `speed` times as many tasks as the mean workgroup.
struct Pace {
  double share = 1;  // of the workgroups
  double speed = 1;
};

// The slowest first. While links are full, ports take turns, so a workgroup behind a port of few CUs is faster.
std::vector<Pace> paces(const std::vector<std::int64_t>& ports) {
  if (ports.empty()) return {Pace{}};
  const auto cus = static_cast<double>(std::accumulate(ports.begin(), ports.end(), std::int64_t{0}));
  std::map<std::int64_t, std::int64_t, std::greater<>> of_size;
  for (const std::int64_t behind : ports) ++of_size[behind];
  std::vector<Pace> all;
  for (const auto& [behind, count] : of_size)
    all.push_back({static_cast<double>(behind * count) / cus,
                   cus / static_cast<double>(ports.size()) / static_cast<double>(behind)});
  return all;
}

// Adds to tables[t] the part of the stores that goes to table t from workgroups of one pace that do task number `done`
// in the mean.
void spread(double done, double stores, const ResultColumns& results, std::vector<double>& tables) {
  constexpr double wide = 8;  // tasks; the borders between tasks can then be neglected
  const double per_round = results.tables_per_round;
  const double count = static_cast<double>(results.tables * results.turns);  // of all destinations
  const auto of = [&](double table) -> double& { return tables[static_cast<std::size_t>(table) % tables.size()]; };
  const double reach = std::max(reach_of(results, done), 1e-6);
  const double first = std::floor(std::max(0.0, done - reach)), last = done + reach;
  if (reach > wide) {
    for (double table = std::floor(first * per_round); table < std::min(count, last * per_round); ++table)
      of(table) +=
          stores * (share_before((table + 1) / per_round, done, reach) - share_before(table / per_round, done, reach));
    return;
  }
  for (double task = first; task <= last && task * per_round < count; ++task) {
    const double share =
        stores * (share_before(task + 1, done, reach) - (task > 0 ? share_before(task, done, reach) : 0));
    const double from = task * per_round, to = std::min(count, from + per_round);
    for (double table = std::floor(from); table < to; ++table)
      of(table) += share / per_round * (std::min(table + 1, to) - std::max(table, from));
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
  const std::vector<Pace> all = paces(results.ports);
  // When the slowest workgroup ends its last task, the mean workgroup has done this many.
  const double slowest = std::ceil(static_cast<double>(results.tables * results.turns) / results.tables_per_round);
  const double rounds = mean_when_slowest(results, slowest) / all.front().speed;
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
      std::fill(tables.begin(), tables.end(), 0);
      for (const Pace& pace : all)
        spread(point / points * rounds * pace.speed, pace.share * pace.speed, results, tables);
      link::StripedBytes stored(port, row);
      for (std::size_t table = 0; table < tables.size(); ++table) stored.add(columns[table], tables[table]);
      bytes += stored.bytes();
      time += stored.time();
    }
  }
  return time / bytes;
}

}  // namespace moire::kernel
