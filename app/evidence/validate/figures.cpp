#include "app/evidence/validate/figures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::validate {

namespace {

constexpr double band = 0.1;            // distance of the lines beside the diagonal, +-10 %
constexpr std::size_t most_series = 7;  // more colours are hard to tell apart
constexpr std::size_t most_names = 40;  // more names do not fit below an axis

std::string in_unit(const std::string& what, const std::string& unit) {
  return unit.empty() ? what : fmt::format("{} in {}", what, unit);
}

std::vector<std::string> units_of(const std::vector<const GroupResult*>& groups) {
  std::vector<std::string> units;
  for (const GroupResult* group : groups) {
    for (const Case& one : group->cases)
      if (std::find(units.begin(), units.end(), one.unit) == units.end()) units.push_back(one.unit);
  }
  return units;
}

void add_point(const Case& one, report::Series& series) {
  series.x.push_back(*one.measured);
  series.y.push_back(one.simulated);
  series.x_low.push_back(one.low.value_or(*one.measured));
  series.x_high.push_back(one.high.value_or(*one.measured));
}

report::Figure empty_scatter(const std::string& title, const std::string& unit) {
  report::Figure figure;
  figure.title = title;
  figure.x_label = in_unit("measured", unit);
  figure.y_label = in_unit("simulated", unit);
  figure.diagonal = true;
  figure.width = figure.height = 480;
  return figure;
}

report::Figure scatter(const GroupResult& group, const std::string& unit) {
  const bool points = group.error_unit == "points";
  report::Figure figure = empty_scatter(group.name, unit);
  figure.log_x = figure.log_y = !points;
  figure.band = points ? 0 : band;
  const bool by_curve = !group.curves.empty() && group.curves.size() <= most_series;
  for (const Case& one : group.cases) {
    if (one.unit != unit || !one.measured) continue;
    const std::string name = by_curve ? one.curve : "";
    const auto known = std::find_if(figure.series.begin(), figure.series.end(),
                                    [&name](const report::Series& series) { return series.name == name; });
    report::Series& series =
        known != figure.series.end() ? *known : figure.series.emplace_back(report::Series{.name = name});
    add_point(one, series);
  }
  return figure;
}

report::Figure errors(const GroupResult& group) {
  report::Figure figure;
  figure.title = group.name;
  figure.x_label = "case";
  figure.y_label = in_unit("error", group.error_unit);
  figure.width = 800;
  report::Series simulated{.name = "simulated", .style = report::Style::bars};
  report::Series expected{.name = "as expected"};
  std::vector<std::string> names;
  for (const Case& one : group.cases) {
    const auto error = one.error();
    if (!error) continue;
    const auto x = static_cast<double>(names.size());
    names.push_back(one.name);
    simulated.x.push_back(x);
    simulated.y.push_back(*error);
    if (const auto expectation = one.expected_error()) {
      expected.x.push_back(x);
      expected.y.push_back(*expectation);
    }
  }
  if (names.size() <= most_names) {
    figure.x_categories = std::move(names);
    // Slanted names need space below the axis.
    if (figure.x_categories.size() > 6) figure.height += 60;
  }
  figure.y_lines = {0};
  for (const Limit& limit : group.limits) {
    if (limit.on != "case") continue;
    figure.y_lines.push_back(limit.most);
    figure.y_lines.push_back(-limit.most);
  }
  if (expected.x.empty()) simulated.name.clear();
  figure.series.push_back(std::move(simulated));
  if (!expected.x.empty()) figure.series.push_back(std::move(expected));
  return figure;
}

// Returns a figure of the mean and the worst error of every curve.
report::Figure curve_errors(const GroupResult& group) {
  report::Figure figure;
  figure.title = group.name;
  figure.y_label = in_unit("error", group.error_unit);
  figure.width = 1100;
  figure.height = 640;
  report::Series mean{.name = "mean", .style = report::Style::bars};
  report::Series worst{.name = "worst"};
  for (const Curve& curve : group.curves) {
    if (curve.summary.cases == 0) continue;
    const auto x = static_cast<double>(figure.x_categories.size());
    figure.x_categories.push_back(curve.name);
    mean.x.push_back(x);
    mean.y.push_back(curve.summary.mean);
    worst.x.push_back(x);
    worst.y.push_back(curve.summary.worst);
  }
  for (const Limit& limit : group.limits)
    if (limit.on == "case" || (limit.on == "curve" && limit.at == group.curves.front().name))
      figure.y_lines.push_back(limit.most);
  figure.series = {std::move(mean), std::move(worst)};
  return figure;
}

}  // namespace

std::vector<report::Figure> figures_of(const GroupResult& group) {
  std::vector<report::Figure> figures;
  if (group.kind != "trace" && group.summary.cases > 0) {
    for (const std::string& unit : units_of({&group})) figures.push_back(scatter(group, unit));
    figures.push_back(group.curves.empty() ? errors(group) : curve_errors(group));
  }
  figures.insert(figures.end(), group.figures.begin(), group.figures.end());
  return figures;
}

std::vector<report::Figure> overall_figures(const ValidationResult& result) {
  std::vector<const GroupResult*> groups;
  for (const GroupResult& group : result.groups)
    if (group.kind == "scenario" && group.summary.cases > 0) groups.push_back(&group);
  std::vector<report::Figure> figures;
  if (groups.size() < 2) return figures;
  for (const std::string& unit : units_of(groups)) {
    report::Figure figure = empty_scatter("all groups", unit);
    figure.log_x = figure.log_y = true;
    figure.band = band;
    for (const GroupResult* group : groups) {
      report::Series series{.name = group->name};
      for (const Case& one : group->cases)
        if (one.unit == unit && one.measured) add_point(one, series);
      if (!series.x.empty()) figure.series.push_back(std::move(series));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace moire::validate
