#include "app/evidence/wg_compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/evidence/wg_compare/figures.hpp"
#include "app/evidence/wg_compare/profile.hpp"

namespace moire::wg_compare {

namespace {

constexpr int occupancy_bins = 200;     // number of bins into which the measured makespan is divided
constexpr std::size_t most_waves = 32;  // largest number of waves whose starts are listed

const char* const give_the_shape = "give the scenario the shape that the trace was recorded with";

double rounded(double value) { return std::round(value * 1e6) / 1e6; }  // drops digits that are only rounding errors
double error_percent(double measured, double simulated) { return rounded(100 * (simulated - measured) / measured); }

std::vector<std::int64_t> tasks_of_ranks(const Record& record) {
  std::vector<std::int64_t> tasks(record.ranks);
  for (const Task& task : record.tasks) ++tasks[task.rank];
  return tasks;
}

// Returns the reasons why the records cannot be compared. Both must have the same number of ranks, the same number of
// tasks on each rank, and the same bytes over each link.
std::vector<config::Problem> mismatches_of(const Record& measured, const Record& simulated, const Profile& m,
                                           const Profile& s) {
  if (measured.ranks != simulated.ranks) {
    return {{fmt::format("the simulation has {} ranks, but the trace has {}", simulated.ranks, measured.ranks),
             fmt::format("give the scenario a system of {} GPUs", measured.ranks)}};
  }
  std::vector<config::Problem> found;
  const std::vector<std::int64_t> wanted = tasks_of_ranks(measured);
  const std::vector<std::int64_t> got = tasks_of_ranks(simulated);
  for (Rank rank = 0; rank < measured.ranks; ++rank) {
    if (wanted[rank] == got[rank]) continue;
    found.push_back(
        {fmt::format("rank {} has {} tasks in the simulation, but {} in the trace", rank, got[rank], wanted[rank]),
         give_the_shape});
    break;  // a message about one rank is enough
  }
  const auto bytes_of = [](const Profile& profile, Link link) {
    const auto at = profile.issued.find(link);
    return at == profile.issued.end() ? 0 : at->second.total();
  };
  for (Rank source = 0; source < measured.ranks; ++source) {
    for (Rank peer = 0; peer < measured.ranks; ++peer) {
      const double want = bytes_of(m, {source, peer});
      const double have = bytes_of(s, {source, peer});
      if (std::abs(want - have) < 0.5) continue;
      found.push_back({fmt::format("rank {} stores {:.0f} B to rank {} in the simulation, but {:.0f} B in the trace",
                                   source, have, peer, want),
                       give_the_shape});
      return found;
    }
  }
  return found;
}

// Returns the Wasserstein-1 distance of two distributions of times, in percent of the measured makespan.
double distance_percent(const std::vector<Time>& a, const std::vector<Time>& b, Time makespan) {
  return rounded(100 * area_between(distribution(a), distribution(b)) / static_cast<double>(makespan.ps));
}

struct LinkDifference {
  double mean = 0;
  double worst = 0;
};

LinkDifference link_difference(const Profile& m, const Profile& s, Time makespan) {
  LinkDifference difference;
  for (const auto& [link, bytes] : m.issued) {
    const double one = 100 * area_between(bytes, s.issued.at(link)) / bytes.total() / static_cast<double>(makespan.ps);
    difference.mean += one / static_cast<double>(m.issued.size());
    difference.worst = std::max(difference.worst, one);
  }
  return {rounded(difference.mean), rounded(difference.worst)};
}

double occupancy_difference(const Profile& m, const Profile& s, const Record& measured, Time end) {
  const Time length{std::max<std::int64_t>(1, measured.makespan.ps / occupancy_bins)};
  double area = 0;
  for (const OccupancyBin& bin : occupancy(m, s, length, end)) {
    area += std::abs(bin.measured - bin.simulated) * static_cast<double>((bin.end - bin.begin).ps);
  }
  const double slots = static_cast<double>(measured.workgroups_per_rank);
  return rounded(100 * area / slots / static_cast<double>(measured.makespan.ps));
}

void add_quantiles(const std::string& word, const std::vector<Time>& m, const std::vector<Time>& s,
                   std::initializer_list<int> percents, std::vector<Pair>& pairs) {
  for (const int percent : percents) {
    pairs.push_back({fmt::format("{}_p{}_us", word, percent), "us", rounded(quantile_us(m, percent / 100.0)),
                     rounded(quantile_us(s, percent / 100.0))});
  }
}

// Returns how far the workgroups drift apart, in us: the time between the 10th and the 90th percentile of the starts of
// their n-th tasks, averaged over n.
double mean_spread_us(const std::vector<std::vector<Time>>& waves) {
  double sum = 0;
  for (const std::vector<Time>& wave : waves) sum += quantile_us(wave, 0.9) - quantile_us(wave, 0.1);
  return rounded(sum / static_cast<double>(waves.size()));
}

std::vector<Pair> pairs_of(const Record& measured, const Record& simulated, const Profile& m, const Profile& s) {
  std::vector<Pair> pairs;
  pairs.push_back({"makespan_us", "us", measured.makespan.us(), simulated.makespan.us()});
  pairs.push_back({"workgroups_per_rank", "", static_cast<double>(measured.workgroups_per_rank),
                   static_cast<double>(simulated.workgroups_per_rank)});
  pairs.push_back({"waves", "", static_cast<double>(m.waves.size()), static_cast<double>(s.waves.size())});
  pairs.push_back({"wave_start_p10_to_p90_mean_us", "us", mean_spread_us(m.waves), mean_spread_us(s.waves)});
  pairs.push_back(
      {"cus", "", static_cast<double>(m.cu_task_times.size()), static_cast<double>(s.cu_task_times.size())});
  pairs.push_back({"task_mean_us", "us", m.mean_task.us(), s.mean_task.us()});
  add_quantiles("cu_task", m.cu_task_times, s.cu_task_times, {0, 10, 50, 90, 100}, pairs);
  const auto deciles = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
  add_quantiles("task_start", m.starts, s.starts, deciles, pairs);
  add_quantiles("task_end", m.ends, s.ends, deciles, pairs);
  const std::size_t waves = std::min(m.waves.size(), s.waves.size());
  const std::size_t listed = std::min(waves, most_waves);
  for (std::size_t i = 0; i < listed; ++i) {
    const std::size_t k = listed == 1 ? 0 : i * (waves - 1) / (listed - 1);
    add_quantiles(fmt::format("wave_{}_start", k + 1), m.waves[k], s.waves[k], {10, 50, 90}, pairs);
  }
  return pairs;
}

}  // namespace

const std::vector<study::MetricInfo>& metric_infos() {
  static const std::vector<study::MetricInfo> infos = {
      {"makespan_error_percent",
       "Time from the first start to the last end over all ranks: simulated over measured, minus 1"},
      {"task_time_error_percent", "Mean time of a task: simulated over measured, minus 1"},
      {"start_distribution_difference_percent",
       "Mean error of a task's start, comparing the two distributions (Wasserstein-1), relative to the measured "
       "makespan"},
      {"end_distribution_difference_percent",
       "Mean error of a task's end, comparing the two distributions (Wasserstein-1), relative to the measured "
       "makespan"},
      {"occupancy_difference_percent",
       "Area between the two curves of tasks in flight on a GPU, relative to slots x measured makespan"},
      {"link_bytes_difference_percent",
       "Mean error of the time at which a byte is stored to a peer (area between the two curves of bytes over a link), "
       "relative to the measured makespan; mean over the links"},
      {"link_bytes_worst_difference_percent",
       "Mean error of the time at which a byte is stored to a peer, relative to the measured makespan, for the link "
       "with the largest error"},
      {"cu_task_time_difference_percent",
       "Mean error of the mean task time of a CU, comparing the two distributions, relative to the measured mean"},
  };
  return infos;
}

Comparison compare(const Record& measured, const Record& simulated) {
  const Profile m(measured);
  const Profile s(simulated);
  Comparison result;
  result.mismatches = mismatches_of(measured, simulated, m, s);
  if (!result.mismatches.empty()) return result;
  const Time end = std::max(measured.makespan, simulated.makespan);
  const LinkDifference links = link_difference(m, s, measured.makespan);
  const double cu_distance = area_between(distribution(m.cu_task_times), distribution(s.cu_task_times));
  const std::vector<double> values = {
      error_percent(measured.makespan.us(), simulated.makespan.us()),
      error_percent(m.mean_task.us(), s.mean_task.us()),
      distance_percent(m.starts, s.starts, measured.makespan),
      distance_percent(m.ends, s.ends, measured.makespan),
      occupancy_difference(m, s, measured, end),
      links.mean,
      links.worst,
      rounded(100 * cu_distance / static_cast<double>(m.mean_task.ps)),
  };
  for (std::size_t i = 0; i < values.size(); ++i) result.metrics.emplace_back(metric_infos()[i], values[i]);
  result.pairs = pairs_of(measured, simulated, m, s);
  result.figures = figures(m, s, end);
  return result;
}

}  // namespace moire::wg_compare
