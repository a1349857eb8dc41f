#include "app/evidence/validate/curve_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace moire::validate {

namespace {

constexpr std::size_t most_series = 4;  // series in a figure; each has measured and simulated points
constexpr double wide = 20;             // an axis is logarithmic if largest / smallest value is at least this

// Returns the values of the parameters that vary, except `x`: "wgs=132 wgs_per_sm=1".
std::string series_name(const CurveValue& value, const std::string& x, const std::set<std::string>& varying) {
  std::string name;
  for (const auto& [key, number] : value.parameters) {
    if (key == x || !varying.contains(key)) continue;
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", key, number);
  }
  return name;
}

bool spans_decades(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low > 0 && *high / *low >= wide;
}

}  // namespace

std::vector<report::Figure> curve_figures(const std::string& name, const std::string& metric, const std::string& unit,
                                          const std::vector<CurveValue>& values) {
  std::map<std::string, std::set<double>> taken;
  for (const CurveValue& value : values)
    for (const auto& [key, number] : value.parameters) taken[key].insert(number);
  std::string x;
  std::set<std::string> varying;
  for (const auto& [key, numbers] : taken) {
    if (numbers.size() > 1) varying.insert(key);
    if (numbers.size() > 1 && (x.empty() || numbers.size() > taken[x].size())) x = key;
  }
  if (x.empty()) return {};

  std::vector<std::pair<std::string, std::vector<const CurveValue*>>> series;
  for (const CurveValue& value : values) {
    if (!value.parameters.contains(x)) continue;
    const std::string own = series_name(value, x, varying);
    const auto known = std::find_if(series.begin(), series.end(), [&own](const auto& one) { return one.first == own; });
    (known != series.end() ? *known : series.emplace_back(own, std::vector<const CurveValue*>{}))
        .second.push_back(&value);
  }
  std::stable_sort(series.begin(), series.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const std::size_t shown = std::min(series.size(), most_series);

  report::Figure figure;
  figure.title = name + " " + metric;
  if (shown < series.size()) figure.title += fmt::format(", {} of {} series", shown, series.size());
  figure.x_label = x;
  figure.y_label = unit.empty() || unit == "1" ? metric : fmt::format("{} in {}", metric, unit);
  std::vector<double> xs;
  std::vector<double> ys;
  for (std::size_t s = 0; s < shown; ++s) {
    std::vector<const CurveValue*> points = series[s].second;
    std::stable_sort(points.begin(), points.end(), [&x](const CurveValue* a, const CurveValue* b) {
      return a->parameters.at(x) < b->parameters.at(x);
    });
    const std::string of = series[s].first.empty() ? "" : ", " + series[s].first;
    report::Series measured{.name = "measured" + of};
    report::Series simulated{.name = "simulated" + of, .style = report::Style::lines};
    measured.colour = simulated.colour = s;
    for (const CurveValue* point : points) {
      const double at = point->parameters.at(x);
      measured.x.push_back(at);
      measured.y.push_back(point->measured);
      measured.y_low.push_back(point->low);
      measured.y_high.push_back(point->high);
      simulated.x.push_back(at);
      simulated.y.push_back(point->simulated);
    }
    xs.insert(xs.end(), measured.x.begin(), measured.x.end());
    ys.insert(ys.end(), measured.y.begin(), measured.y.end());
    figure.series.push_back(std::move(measured));
    figure.series.push_back(std::move(simulated));
  }
  figure.log_x = spans_decades(xs);
  figure.log_y = spans_decades(ys);
  if (figure.series.size() > 4) figure.width = 900;
  return {figure};
}

}  // namespace moire::validate
