#include "app/study/notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/hardware/machine/parts.hpp"

namespace moire::study {

namespace {

constexpr std::string_view of_system = "system.";

struct Changed {
  std::string path;  // path below `system`
  std::string value;
};

std::vector<Changed> changed_of(const Scenario& scenario, const Run& run) {
  std::vector<Changed> all;
  for (const auto& [path, value] : parameters_of(scenario, run)) {
    if (!path.starts_with(of_system)) continue;
    std::string from_system = path.substr(of_system.size());
    if (from_system.ends_with(".value")) from_system.resize(from_system.size() - std::string_view(".value").size());
    all.push_back({std::move(from_system), value.is_scalar() && !value.top ? " " + value.text : ""});
  }
  return all;
}

bool within(std::string_view key, std::string_view path) {
  return key == path || (key.starts_with(path) && key[path.size()] == '.');
}

// True if the limit can make the change ineffective. The limit says that the value of the key `by` limits the effect of
// the key `key`. The change must set `key`, or replace a part of the system that contains `key` but not `by`.
bool is_about(const part::Limit& limit, const Changed& change) {
  return limit.key == change.path || (within(limit.key, change.path) && !within(limit.by, change.path));
}

bool same(const RunResult& a, const RunResult& b) {
  return a.time == b.time &&
         std::equal(a.metrics.begin(), a.metrics.end(), b.metrics.begin(), b.metrics.end(),
                    [](const Metric& x, const Metric& y) { return x.name == y.name && x.value == y.value; });
}

// Returns notes on changes of parts of the machine that the run did not use.
std::vector<std::string> not_felt(const Scenario& scenario, const Run& run, const RunResult& result) {
  std::vector<std::string> notes;
  for (const Changed& change : changed_of(scenario, run)) {
    for (const machine::RegisteredPart& part : machine::parts()) {
      const part::Declaration& declared = part.declaration();
      const auto own = [&](std::string_view key) { return within(change.path, key); };
      if (std::none_of(declared.felt_by_metrics.begin(), declared.felt_by_metrics.end(), own)) continue;
      std::vector<std::string> zero;
      bool used = false;
      for (const auto* metrics : {&declared.traffic, &declared.occupied}) {
        for (const part::MetricInfo& metric : *metrics) {
          used = used || value_of(result.metrics, metric.name).value_or(0) > 0;
          zero.emplace_back(metric.name);
        }
      }
      if (!used)
        notes.push_back(fmt::format("{}{}: no effect, because {} is 0", change.path, change.value, zero.front()));
    }
  }
  return notes;
}

// Finds neighbouring points of an axis, and pairs of variants, that give equal results. It compares two runs that
// differ only in this point or in this variant.
class Alike {
 public:
  Alike(const Scenario& scenario, const StudyResult& result)
      : scenario_(scenario), result_(result), variants_(std::max<std::size_t>(1, scenario.variants.size())) {}

  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    std::size_t stride = result_.runs.size();
    for (const Axis& axis : scenario_.axes) {
      const std::size_t points = axis.points.size();
      stride /= points;
      for (std::size_t p = 1; p < points; ++p)
        tell("axis " + config::in_quotes(axis.name), axis.points[p - 1].name, axis.points[p].name,
             pairs(stride, points, p - 1, p), all);
    }
    for (std::size_t v = 1; v < scenario_.variants.size(); ++v) {
      for (std::size_t other = 0; other < v; ++other) {
        const Count count = pairs(1, variants_, other, v);
        if (count.alike < count.all || count.all == 0) continue;
        tell("variants", scenario_.variants[other].name, scenario_.variants[v].name, count, all);
        break;
      }
    }
    return all;
  }

 private:
  struct Count {
    std::size_t alike = 0;
    std::size_t all = 0;
  };

  // Compares the runs at the points `a` and `b` of an axis with `points` points. A step along this axis adds `stride`
  // to the number of a run.
  Count pairs(std::size_t stride, std::size_t points, std::size_t a, std::size_t b) const {
    Count count;
    for (std::size_t run = 0; run < result_.runs.size(); ++run) {
      if (run / stride % points != a) continue;
      const RunResult& one = result_.runs[run];
      const RunResult& other = result_.runs[run + (b - a) * stride];
      if (!one.ended_well() || !other.ended_well()) continue;
      ++count.all;
      if (same(one, other)) ++count.alike;
    }
    return count;
  }

  static void tell(const std::string& what, const std::string& a, const std::string& b, const Count& count,
                   std::vector<std::string>& all) {
    if (count.alike == 0) return;
    const std::string where = count.alike == count.all ? "" : fmt::format(" in {} of {} runs", count.alike, count.all);
    all.push_back(
        fmt::format("{}: {} and {} give the same results{}: the changes in which they differ have no effect there",
                    what, config::in_quotes(a), config::in_quotes(b), where));
  }

  const Scenario& scenario_;
  const StudyResult& result_;
  std::size_t variants_;
};

// Returns a note if a run is faster than its ideal. This can happen if the settings of the run, or running beside other
// queues, make a queue faster than it is in the ideal.
std::vector<std::string> beyond_ideal(const Scenario& scenario, const StudyResult& result) {
  const bool beyond = std::any_of(result.runs.begin(), result.runs.end(), [](const RunResult& run) {
    return value_of(run.metrics, "fraction_of_ideal").value_or(0) > 1;
  });
  if (!beyond) return {};
  const std::string reference = scenario.compare_to
                                    ? fmt::format("the queues alone as in variant {}",
                                                  config::in_quotes(scenario.variants[*scenario.compare_to].name))
                                    : "the queues alone";
  return {
      fmt::format("more than 100 % of ideal: the ideal is the longest time of {}. A run ends earlier than that if its "
                  "own settings make the longest queue faster (compare <queue>_alone_us with <queue>_isolated_us)",
                  reference)};
}

}  // namespace

std::vector<std::string> notes_of(const Scenario& scenario, const Run& run, const PreparedRun& prepared) {
  std::vector<std::string> notes;
  const std::vector<Changed> changed = changed_of(scenario, run);
  if (changed.empty()) return notes;
  for (const part::Limit& limit : machine::limits(*prepared.system, *prepared.program)) {
    const auto about = std::find_if(changed.begin(), changed.end(),
                                    [&limit](const Changed& change) { return is_about(limit, change); });
    if (about == changed.end()) continue;
    notes.push_back(fmt::format("{}{}: limited by {} {}", limit.key, about->path == limit.key ? about->value : "",
                                limit.by, limit.at));
  }
  notes.insert(notes.end(), prepared.system->followed.begin(), prepared.system->followed.end());
  return notes;
}

std::vector<std::string> notes_of(const PreparedStudy& study, const StudyResult& result) {
  struct Seen {
    std::size_t runs = 0;
    std::size_t first = 0;
  };
  std::map<std::string, Seen> seen;
  std::vector<std::string> order;
  const std::size_t runs = result.ended_well();
  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    if (!result.runs[number].ended_well()) continue;
    std::vector<std::string> own = study.notes[number];
    for (std::string& text : not_felt(study.scenario, run_of(study.scenario, number), result.runs[number]))
      own.push_back(std::move(text));
    own.insert(own.end(), result.runs[number].unfelt.begin(), result.runs[number].unfelt.end());
    for (const std::string& text : own) {
      const auto [at, fresh] = seen.try_emplace(text, Seen{0, number});
      if (fresh) order.push_back(text);
      ++at->second.runs;
    }
  }
  std::vector<std::string> notes;
  for (const std::string& text : order) {
    const Seen& one = seen.at(text);
    if (one.runs == runs) {
      notes.push_back(text);
    } else if (one.runs == 1) {
      notes.push_back(
          fmt::format("{} (in run {})", text, config::in_quotes(run_of(study.scenario, one.first).label())));
    } else {
      notes.push_back(fmt::format("{} (in {} of {} runs)", text, one.runs, runs));
    }
  }
  for (std::string& text : Alike(study.scenario, result).notes()) notes.push_back(std::move(text));
  for (std::string& text : beyond_ideal(study.scenario, result)) notes.push_back(std::move(text));
  return notes;
}

}  // namespace moire::study
