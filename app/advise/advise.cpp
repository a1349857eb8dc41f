#include "app/advise/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/advise/windows.hpp"
#include "app/study/child.hpp"
#include "app/study/child_run.hpp"
#include "app/study/overlap.hpp"
#include "app/study/progress.hpp"
#include "sim/core/invariant.hpp"

namespace moire::advise {

namespace {

// One simulation: a whole schedule, or one of its queues alone.
struct Task {
  std::string schedule;
  study::PreparedRunPtr run;
  std::optional<std::uint32_t> alone;
};

class Search {
 public:
  Search(const study::Scenario& scenario, study::Preparer& preparer, std::size_t at_once, Advice& advice)
      : bare_(with_schedules(scenario, {})), preparer_(preparer), at_once_(at_once), advice_(advice) {}

  // Simulates all schedules and fills the advice. Returns false, and reports it, if the schedule as written deadlocks,
  // or one of its queues alone.
  bool run(config::Diagnostics& diagnostics) {
    const Space& space = advice_.space;
    std::vector<Task> tasks;
    for (std::size_t s = 0; s < space.schedules.size(); ++s) {
      tasks.push_back({space.schedules[s].name, space.prepared[s], std::nullopt});
    }
    for (std::uint32_t queue = 0; queue < space.queues() && space.two_queues(); ++queue) {
      tasks.push_back({space.schedules.front().name, space.prepared.front(), queue});
    }
    add_splits(tasks);
    std::vector<study::RunResult> results = simulate_all(tasks);
    auto next = results.begin();
    std::vector<Tried> tried;
    for (std::size_t s = 0; s < space.schedules.size(); ++s) {
      tried.push_back({space.schedules[s], space.prepared[s], std::move(*next++), {}});
    }
    const auto unending = [](const study::RunResult& result) { return !result.deadlock.empty(); };
    if (unending(tried.front().result) || std::any_of(next, next + (space.two_queues() ? 2 : 0), unending)) {
      diagnostics.error(bare_.tree.find("program")->place, "the program does not end with its schedule as written",
                        "'moire run' shows who waits for whom");
      return false;
    }
    for (std::uint32_t queue = 0; queue < space.queues() && space.two_queues(); ++queue) {
      advice_.isolated.push_back(next->queues.front());
      advice_.isolated.back().number = queue;
      ++next;
    }
    for (const std::int64_t cus : split_cus_) {
      const study::RunResult& first = *next++;
      const study::RunResult& second = *next++;
      if (!first.deadlock.empty() || !second.deadlock.empty()) continue;
      const bool comm_first = first.queues.front().name == advice_.space.comm;
      advice_.splits.push_back({cus, (comm_first ? second : first).time, (comm_first ? first : second).time});
    }
    for (Tried& one : tried) {
      if (!one.result.deadlock.empty()) {
        advice_.space.left_out.push_back(one.schedule.name + ": it deadlocks");
        continue;
      }
      if (space.two_queues())
        one.fraction_of_ideal =
            study::value_of(overlap_metrics(one.result, advice_.isolated, nullptr), "fraction_of_ideal");
      advice_.tried.push_back(std::move(one));
    }
    for (const study::QueueResult& queue : advice_.isolated) {
      advice_.serial += queue.end;
      advice_.ideal = std::max(advice_.ideal, queue.end);
    }
    rank();
    if (!space.two_queues()) return true;
    choose_by_rules();
    account_for(0);
    if (advice_.best() != 0) account_for(advice_.best());
    return true;
  }

 private:
  // Adds two simulations for each number of CUs that can be reserved: each queue alone.
  void add_splits(std::vector<Task>& tasks) {
    for (const std::int64_t cus : advice_.space.splits) {
      const study::Choice made = reservation(advice_.space.comm, cus, bare_.tree.find("program")->place);
      config::Diagnostics own;
      study::Run run;
      run.choices = {&made};
      const study::PreparedRunPtr prepared = preparer_.prepare(bare_, run, own);
      if (!prepared) continue;
      split_cus_.push_back(cus);
      for (const std::uint32_t queue : {0U, 1U}) tasks.push_back({made.name, prepared, queue});
    }
  }

  std::vector<study::RunResult> simulate_all(const std::vector<Task>& tasks) {
    std::vector<std::function<study::RunResult()>> simulated;
    for (const Task& task : tasks) {
      simulated.emplace_back(
          [&task] { return simulate(task.alone ? task.run->only(*task.alone) : *task.run, nullptr); });
    }
    study::Progress progress;
    return study::simulate_in_children(
        simulated, at_once_,
        [&](std::size_t number) { progress.run(number + 1, tasks.size(), tasks[number].schedule); },
        [&] { progress.tick(); });
  }

  void rank() {
    std::vector<std::size_t>& ranking = advice_.ranking;
    ranking.resize(advice_.tried.size());
    std::iota(ranking.begin(), ranking.end(), std::size_t{0});
    const auto time = [&](std::size_t t) { return advice_.tried[t].result.time; };
    std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) { return time(a) < time(b); });
    const double fastest = time(ranking.front()).us();
    auto best = ranking.begin();
    for (auto at = ranking.begin(); at != ranking.end() && time(*at).us() <= fastest * (1 + good_enough); ++at) {
      if (advice_.tried[*at].schedule.changes.size() < advice_.tried[*best].schedule.changes.size()) best = at;
    }
    std::rotate(ranking.begin(), best, best + 1);
  }

  std::optional<std::size_t> find(const std::string& name) const {
    for (std::size_t t = 0; t < advice_.tried.size(); ++t) {
      if (advice_.tried[t].schedule.name == name) return t;
    }
    return std::nullopt;
  }

  void choose_by_rules() {
    const Space& space = advice_.space;
    if (space.comm_workgroups > 0 && space.compute_workgroups > 0) {
      advice_.by_workgroups =
          find((space.comm_workgroups <= space.compute_workgroups ? space.comm : space.compute) + " first");
      if (!advice_.by_workgroups) advice_.by_workgroups = 0;  // the file already launches this queue first
    }
    if (advice_.splits.empty()) return;
    const auto smallest = std::min_element(advice_.splits.begin(), advice_.splits.end(),
                                           [](const Split& a, const Split& b) { return a.larger() < b.larger(); });
    advice_.by_split = find(fmt::format("{} CUs reserved", smallest->cus));
  }

  void account_for(std::size_t number) {
    const Tried& one = advice_.tried[number];
    const study::PreparedRun& run = *one.prepared;
    const auto nothing = [] {};
    std::vector<study::QueueResult> alone;
    for (const std::uint32_t queue : {0U, 1U}) {
      const auto simulated = [&] { return simulate(run.only(queue), nullptr); };
      alone.push_back(study::simulate_in_child(simulated, nothing).queues.front());
      alone.back().number = queue;
    }
    Account account;
    account.tried = number;
    account.blame = blame(run, one.result.queues, alone, [&](const machine::Apart& apart) {
      return study::simulate_in_child([&] { return simulate(run, nullptr, apart); }, nothing);
    });
    for (const study::QueueBlame& queue : account.blame) account.lost.push_back(queue.sum());
    account.stretches = stretches_of(run, one.result);
    advice_.accounts.push_back(std::move(account));
  }

  std::vector<Stretch> stretches_of(const study::PreparedRun& run, const study::RunResult& result) const {
    const auto& [first, last] =
        std::minmax(result.queues[0], result.queues[1], [](const auto& a, const auto& b) { return a.end < b.end; });
    const machine::GpuSpec& gpu = run.system->node.gpu;
    const auto simulated = [&, first_end = first.end, last_end = last.end] {
      Windows windows({first_end, last_end}, run.program->ranks(), gpu.compute.total_cus(), gpu.dma.engines);
      simulate(run, &windows);
      return study::packed(windows.shares());
    };
    const auto shares = study::unpacked<std::vector<Share>>(study::run_in_child(simulated, [] {}).text);
    std::vector<Stretch> stretches = {{"both queues run", Time{}, first.end, {}},
                                      {last.name + " continues alone", first.end, last.end, {}}};
    for (const Share& one : shares) stretches[one.window].busy.emplace_back(one.kind, one.share);
    if (first.end == last.end) stretches.pop_back();
    for (Stretch& stretch : stretches) {
      std::stable_sort(stretch.busy.begin(), stretch.busy.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
    }
    return stretches;
  }

  const study::Scenario bare_;
  study::Preparer& preparer_;
  const std::size_t at_once_;
  Advice& advice_;
  std::vector<std::int64_t> split_cus_;
};

}  // namespace

double Advice::over_best(std::size_t number) const {
  return tried[number].result.time.us() / tried[best()].result.time.us() - 1;
}

std::size_t Advice::as_good() const {
  return static_cast<std::size_t>(
      std::count_if(ranking.begin(), ranking.end(), [this](std::size_t t) { return over_best(t) <= good_enough; }));
}

std::optional<std::size_t> Advice::next() const {
  const auto worse =
      std::find_if(ranking.begin(), ranking.end(), [this](std::size_t t) { return over_best(t) > good_enough; });
  return worse == ranking.end() ? std::nullopt : std::optional(*worse);
}

std::optional<Advice> advise(const study::Scenario& scenario, std::size_t at_once, config::Diagnostics& diagnostics) {
  study::Preparer preparer;
  auto space = space_of(scenario, preparer, diagnostics);
  if (!space) return std::nullopt;
  Advice advice;
  advice.space = std::move(*space);
  if (!Search(scenario, preparer, at_once, advice).run(diagnostics)) return std::nullopt;
  return advice;
}

}  // namespace moire::advise
