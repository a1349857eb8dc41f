#include "app/evidence/wg_compare/profile.hpp"

#include <algorithm>
#include <cmath>

namespace moire::wg_compare {

namespace {

std::vector<std::vector<Time>> waves_of(const std::vector<Task>& tasks) {
  std::map<std::pair<Rank, std::int64_t>, std::vector<Time>> of_workgroup;
  for (const Task& task : tasks) of_workgroup[{task.rank, task.workgroup}].push_back(task.begin);
  std::vector<std::vector<Time>> waves;
  for (auto& [workgroup, starts] : of_workgroup) {
    std::sort(starts.begin(), starts.end());
    if (waves.size() < starts.size()) waves.resize(starts.size());
    for (std::size_t k = 0; k < starts.size(); ++k) waves[k].push_back(starts[k]);
  }
  for (std::vector<Time>& wave : waves) std::sort(wave.begin(), wave.end());
  return waves;
}

std::vector<Time> cu_task_times_of(const std::vector<Task>& tasks) {
  struct Sum {
    Time total;
    std::int64_t tasks = 0;
  };
  std::map<std::pair<Rank, std::uint32_t>, Sum> of_cu;
  for (const Task& task : tasks) {
    Sum& sum = of_cu[{task.rank, task.cu}];
    sum.total += task.end - task.begin;
    ++sum.tasks;
  }
  std::vector<Time> means;
  means.reserve(of_cu.size());
  for (const auto& [cu, sum] : of_cu) means.push_back(Time{sum.total.ps / sum.tasks});
  std::sort(means.begin(), means.end());
  return means;
}

}  // namespace

Profile::Profile(const Record& record)
    : waves(waves_of(record.tasks)), cu_task_times(cu_task_times_of(record.tasks)), ranks_(record.ranks) {
  std::vector<Portion> spent;
  Time total;
  for (const Task& task : record.tasks) {
    starts.push_back(task.begin);
    ends.push_back(task.end);
    spent.push_back({task.begin, task.end, static_cast<double>((task.end - task.begin).ps)});
    total += task.end - task.begin;
  }
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  busy = Cumulative(spent);
  mean_task = Time{total.ps / std::max<std::int64_t>(1, std::ssize(record.tasks))};
  std::map<Link, std::pair<std::vector<Portion>, std::vector<Portion>>> of_link;
  for (const Store& store : record.stores) {
    auto& [issues, arrivals] = of_link[{store.source, store.peer}];
    issues.push_back({store.begin, store.end, store.bytes});
    arrivals.push_back({store.begin, store.arrived, store.bytes});
  }
  for (const auto& [link, portions] : of_link) {
    issued.emplace(link, Cumulative(portions.first));
    if (record.knows_arrivals) arrived.emplace(link, Cumulative(portions.second));
  }
}

double Profile::in_flight(Time from, Time to) const {
  return (busy.at(to) - busy.at(from)) / static_cast<double>((to - from).ps) / ranks_;
}

double quantile_us(const std::vector<Time>& ascending, double share) {
  const double at = share * static_cast<double>(ascending.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, ascending.size() - 1);
  return ascending[low].us() + (at - std::floor(at)) * (ascending[high] - ascending[low]).us();
}

Cumulative distribution(const std::vector<Time>& values) {
  std::vector<Portion> portions;
  portions.reserve(values.size());
  for (const Time value : values) portions.push_back({value, value, 1 / static_cast<double>(values.size())});
  return Cumulative(portions);
}

}  // namespace moire::wg_compare
