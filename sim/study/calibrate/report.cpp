#include "sim/study/calibrate/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/config/suggest.hpp"
#include "sim/study/table.hpp"

namespace moire::study::calibrate {

namespace {

using Json = nlohmann::ordered_json;

std::string percent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }
std::string signed_percent(double ratio) { return fmt::format("{:+.1f} %", ratio * 100); }
std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// Ratios with as many digits as mean something, so that the last bits of an error never show.
double digits(double ratio) { return std::stod(fmt::format("{:.6f}", ratio)); }

std::string changes_table(const Found& found) {
  Table table;
  table.column("parameter", Table::Align::left);
  table.column("was", Table::Align::right);
  table.column("is", Table::Align::right);
  table.column("residual", Table::Align::right);
  table.column("worst", Table::Align::right);
  table.column("points", Table::Align::right);
  table.column("source", Table::Align::left);
  for (const Change& change : found.changes) {
    table.row({change.path, or_dash(change.before), change.after, change.residual ? percent(*change.residual) : "-",
               change.worst ? signed_percent(*change.worst) : "-", std::to_string(change.points), change.source});
  }
  return table.str();
}

std::string curves_table(const Found& found) {
  Table table;
  table.column("curve", Table::Align::left);
  table.column("points", Table::Align::right);
  table.column("mean error", Table::Align::right);
  table.column("worst", Table::Align::right);
  table.column("measured", Table::Align::right);
  table.column("simulated", Table::Align::right);
  table.column("worst at", Table::Align::left);
  for (const Curve& curve : found.curves) {
    const CurvePoint& worst = curve.worst();
    const std::string unit = curve.unit == "1" ? "" : " " + curve.unit;
    table.row({fmt::format("{} {}", curve.benchmark, curve.metric), std::to_string(curve.points.size()),
               percent(curve.mean_error()), signed_percent(worst.error()),
               fmt::format("{:.4g}{}", worst.measured->value, unit), fmt::format("{:.4g}{}", worst.simulated, unit),
               fmt::format("{}{}", to_string(worst.measured->parameters), within_limits(curve) ? "" : " (!)")});
  }
  return table.str();
}

std::size_t beyond(const Found& found) {
  return static_cast<std::size_t>(std::count_if(found.curves.begin(), found.curves.end(),
                                                [](const Curve& curve) { return !within_limits(curve); }));
}

// A field of a CSV line.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

Json parameters(const Found& found) {
  Json all = Json::array();
  for (const Change& change : found.changes) {
    Json one;
    one["path"] = change.path;
    one["before"] = change.before.empty() ? Json(nullptr) : Json(change.before);
    one["after"] = change.after;
    one["residual"] = change.residual ? Json(digits(*change.residual)) : Json(nullptr);
    one["worst"] = change.worst ? Json(digits(*change.worst)) : Json(nullptr);
    one["points"] = change.points;
    one["source"] = change.source;
    all.push_back(std::move(one));
  }
  return all;
}

double error(double simulated, const FittedCase& one) { return simulated / one.measured - 1; }

}  // namespace

std::string report_table(const Measurements& measurements, const Found& found) {
  std::string out = fmt::format("{}x {}, {}, {} values\n\n", measurements.gpus, measurements.gpu, measurements.date,
                                measurements.values.size());
  out += changes_table(found);
  if (!found.kept.empty()) {
    out += fmt::format("\nkept as the file has them:\n  {}\n", config::join(found.kept, "\n  "));
  }
  if (found.curves.empty()) return out;
  out += "\n" + curves_table(found);
  const std::size_t all = found.curves.size();
  out += fmt::format("\n{} of {} curves within {:.0f} % mean and {:.0f} % worst", all - beyond(found), all,
                     curve_mean_limit * 100, curve_worst_limit * 100);
  out += beyond(found) == 0 ? "\n" : "; (!) marks the others\n";
  return out;
}

std::string report_json(const Measurements& measurements, const Found& found) {
  Json json;
  json["gpu"] = measurements.gpu;
  json["gpus"] = measurements.gpus;
  json["date"] = measurements.date;
  json["values"] = measurements.values.size();
  json["parameters"] = parameters(found);
  json["kept"] = found.kept;
  json["curves"] = Json::array();
  for (const Curve& curve : found.curves) {
    Json one;
    one["benchmark"] = curve.benchmark;
    one["metric"] = curve.metric;
    one["unit"] = curve.unit;
    one["points"] = curve.points.size();
    one["mean_error"] = digits(curve.mean_error());
    one["worst_error"] = digits(curve.worst().error());
    one["worst_at"] = to_string(curve.worst().measured->parameters);
    one["within_limits"] = within_limits(curve);
    json["curves"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

// Every point beside its simulation.
std::string report_csv(const Found& found) {
  std::string out = "benchmark,parameters,metric,unit,measured,simulated,error\n";
  for (const Curve& curve : found.curves) {
    for (const CurvePoint& point : curve.points) {
      out +=
          fmt::format("{},{},{},{},{},{:.6g},{:.6f}\n", curve.benchmark, field(to_string(point.measured->parameters)),
                      curve.metric, curve.unit, point.measured->value, point.simulated, point.error());
    }
  }
  return out;
}

std::string report_table(const ValidationFit& found) {
  std::string out = changes_table(found);
  if (!found.at_bound.empty())
    out +=
        fmt::format("\nas far from where the search began as it may be:\n  {}\n", config::join(found.at_bound, "\n  "));
  Table table;
  table.column("fit", Table::Align::left);
  table.column("case", Table::Align::left);
  table.column("measured", Table::Align::right);
  table.column("was", Table::Align::right);
  table.column("error", Table::Align::right);
  table.column("is", Table::Align::right);
  table.column("error", Table::Align::right);
  for (const FittedCase& one : found.cases) {
    const auto value = [&one](double number) {
      return fmt::format("{:.2f}{}", number, one.unit.empty() ? "" : " " + one.unit);
    };
    table.row({one.fit, one.group == one.name ? one.name : one.group + ", " + one.name, value(one.measured),
               value(one.before), signed_percent(error(one.before, one)), value(one.after),
               signed_percent(error(one.after, one))});
  }
  return out + "\n" + table.str();
}

std::string report_json(const ValidationFit& found) {
  Json json;
  json["parameters"] = parameters(found);
  json["at_bound"] = found.at_bound;
  json["cases"] = Json::array();
  for (const FittedCase& one : found.cases) {
    Json entry;
    entry["fit"] = one.fit;
    entry["group"] = one.group;
    entry["case"] = one.name;
    entry["unit"] = one.unit;
    entry["measured"] = one.measured;
    entry["before"] = digits(one.before);
    entry["after"] = digits(one.after);
    entry["error"] = digits(error(one.after, one));
    json["cases"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

std::string report_csv(const ValidationFit& found) {
  std::string out = "fit,group,case,unit,measured,before,after,error\n";
  for (const FittedCase& one : found.cases) {
    out += fmt::format("{},{},{},{},{},{:.6g},{:.6g},{:.6f}\n", one.fit, field(one.group), field(one.name), one.unit,
                       one.measured, one.before, one.after, error(one.after, one));
  }
  return out;
}

}  // namespace moire::study::calibrate
