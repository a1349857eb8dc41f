#include "app/evidence/wg_compare/figures.hpp"

#include <algorithm>

namespace moire::wg_compare {

namespace {

using report::Figure;
using report::Series;
using report::Style;

constexpr int time_bins = 200;
constexpr int points = 400;  // number of steps from the first to the last point of each curve

double percent(int point) { return 100.0 * point / points; }

report::Series quantiles(const std::string& name, const std::vector<Time>& ascending) {
  report::Series series{.name = name, .style = report::Style::lines};
  for (int i = 0; i <= points; ++i) {
    series.x.push_back(quantile_us(ascending, percent(i) / 100));
    series.y.push_back(percent(i));
  }
  return series;
}

report::Figure starts_and_ends(const Profile& m, const Profile& s) {
  report::Figure figure;
  figure.title = "Starts and ends of tasks";
  figure.x_label = "time (us)";
  figure.y_label = "tasks so far (%)";
  figure.series = {quantiles("starts, measured", m.starts), quantiles("starts, simulated", s.starts),
                   quantiles("ends, measured", m.ends), quantiles("ends, simulated", s.ends)};
  return figure;
}

report::Figure in_flight(const Profile& m, const Profile& s, Time end) {
  report::Figure figure;
  figure.title = "Tasks in flight on a GPU";
  figure.x_label = "time (us)";
  figure.y_label = "tasks (mean over GPUs)";
  report::Series measured{.name = "measured", .style = report::Style::steps};
  report::Series simulated{.name = "simulated", .style = report::Style::steps};
  for (const OccupancyBin& bin : occupancy(m, s, Time{end.ps / time_bins + 1}, end)) {
    measured.x.push_back(bin.begin.us());
    measured.y.push_back(bin.measured);
    simulated.x.push_back(bin.begin.us());
    simulated.y.push_back(bin.simulated);
  }
  figure.series = {measured, simulated};
  return figure;
}

double average(const std::map<Link, Cumulative>& links, Time at) {
  double sum = 0;
  for (const auto& [link, bytes] : links) sum += bytes.at(at);
  return sum / static_cast<double>(links.size());
}

double least(const std::map<Link, Cumulative>& links, Time at) {
  double bytes = links.begin()->second.at(at);
  for (const auto& [link, one] : links) bytes = std::min(bytes, one.at(at));
  return bytes;
}

double most(const std::map<Link, Cumulative>& links, Time at) {
  double bytes = links.begin()->second.at(at);
  for (const auto& [link, one] : links) bytes = std::max(bytes, one.at(at));
  return bytes;
}

template <class Value>  // a function that returns the bytes stored until a time
report::Series bytes_over_time(const std::string& name, Time end, const Value& value) {
  report::Series series{.name = name, .style = report::Style::lines};
  for (int i = 0; i <= points; ++i) {
    const Time at{end.ps / points * i + (i == points ? end.ps % points : 0)};
    series.x.push_back(at.us());
    series.y.push_back(value(at) * 1e-6);
  }
  return series;
}

report::Figure over_links(const Profile& m, const Profile& s, Time end) {
  report::Figure figure;
  figure.title = "Bytes over a link";
  figure.width = 820;  // pixels, enough for the long names in the legend
  figure.x_label = "time (us)";
  figure.y_label = "stored to a peer (MB)";
  for (const auto* side : {&m, &s}) {
    const std::string who = side == &m ? "measured" : "simulated";
    const auto& links = side->issued;
    figure.series.push_back(
        bytes_over_time("issued, " + who + ", mean", end, [&](Time at) { return average(links, at); }));
    figure.series.push_back(
        bytes_over_time("issued, " + who + ", least", end, [&](Time at) { return least(links, at); }));
    figure.series.push_back(
        bytes_over_time("issued, " + who + ", most", end, [&](Time at) { return most(links, at); }));
  }
  if (!s.arrived.empty()) {
    figure.series.push_back(
        bytes_over_time("arrived, simulated, mean", end, [&](Time at) { return average(s.arrived, at); }));
  }
  return figure;
}

report::Series sorted(const std::string& name, const std::vector<Time>& ascending) {
  report::Series series = quantiles(name, ascending);
  std::swap(series.x, series.y);
  return series;
}

report::Figure task_times(const Profile& m, const Profile& s) {
  report::Figure figure;
  figure.title = "Mean task time of a CU";
  figure.x_label = "CUs of all GPUs, fastest first (%)";
  figure.y_label = "time (us)";
  figure.series = {sorted("measured", m.cu_task_times), sorted("simulated", s.cu_task_times)};
  return figure;
}

}  // namespace

std::vector<OccupancyBin> occupancy(const Profile& measured, const Profile& simulated, Time length, Time end) {
  std::vector<OccupancyBin> bins;
  for (Time from; from < end; from += length) {
    const Time to = from + length;
    bins.push_back({from, to, measured.in_flight(from, to), simulated.in_flight(from, to)});
  }
  return bins;
}

std::vector<report::Figure> figures(const Profile& measured, const Profile& simulated, Time end) {
  std::vector<report::Figure> all = {starts_and_ends(measured, simulated), in_flight(measured, simulated, end)};
  if (!measured.issued.empty()) all.push_back(over_links(measured, simulated, end));
  all.push_back(task_times(measured, simulated));
  return all;
}

}  // namespace moire::wg_compare
