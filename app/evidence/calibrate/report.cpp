#include "app/evidence/calibrate/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/report/table.hpp"
#include "sim/config/suggest.hpp"

namespace moire::calibrate {

namespace {

using Json = nlohmann::ordered_json;

std::string percent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }
std::string signed_percent(double ratio) { return fmt::format("{:+.1f} %", ratio * 100); }
std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// Ratios with as many digits as mean something, so that the last bits of an error never show.
double digits(double ratio) { return std::stod(fmt::format("{:.6f}", ratio)); }

std::string changes_table(const Found& found) {
  report::Table table;
  table.column("parameter", report::Table::Align::left);
  table.column("was", report::Table::Align::right);
  table.column("is", report::Table::Align::right);
  table.column("residual", report::Table::Align::right);
  table.column("worst", report::Table::Align::right);
  table.column("points", report::Table::Align::right);
  table.column("source", report::Table::Align::left);
  for (const Change& change : found.changes) {
    table.row({change.path, or_dash(change.before), change.after, change.residual ? percent(*change.residual) : "-",
               change.worst ? signed_percent(*change.worst) : "-", std::to_string(change.points), change.source});
  }
  return table.str();
}

std::string curves_table(const Found& found) {
  report::Table table;
  table.column("curve", report::Table::Align::left);
  table.column("points", report::Table::Align::right);
  table.column("mean error", report::Table::Align::right);
  table.column("worst", report::Table::Align::right);
  table.column("measured", report::Table::Align::right);
  table.column("simulated", report::Table::Align::right);
  table.column("worst at", report::Table::Align::left);
  for (const measurements::Curve& curve : found.curves) {
    const measurements::CurvePoint& worst = curve.worst();
    const std::string unit = curve.unit == "1" ? "" : " " + curve.unit;
    table.row({fmt::format("{} {}", curve.benchmark, curve.metric), std::to_string(curve.points.size()),
               percent(curve.mean_error()), signed_percent(worst.error()),
               fmt::format("{:.4g}{}", worst.measured->value, unit), fmt::format("{:.4g}{}", worst.simulated, unit),
               fmt::format("{}{}", measurements::to_string(worst.measured->parameters),
                           measurements::within_limits(curve) ? "" : " (!)")});
  }
  return table.str();
}

std::size_t beyond(const Found& found) {
  return static_cast<std::size_t>(
      std::count_if(found.curves.begin(), found.curves.end(),
                    [](const measurements::Curve& curve) { return !measurements::within_limits(curve); }));
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

std::string report_table(const measurements::Measurements& measurements, const Found& found) {
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
                     measurements::curve_mean_limit * 100, measurements::curve_worst_limit * 100);
  out += beyond(found) == 0 ? "\n" : "; (!) marks the others\n";
  return out;
}

std::string report_json(const measurements::Measurements& measurements, const Found& found) {
  Json json;
  json["gpu"] = measurements.gpu;
  json["gpus"] = measurements.gpus;
  json["date"] = measurements.date;
  json["values"] = measurements.values.size();
  json["parameters"] = parameters(found);
  json["kept"] = found.kept;
  json["curves"] = Json::array();
  for (const measurements::Curve& curve : found.curves) {
    Json one;
    one["benchmark"] = curve.benchmark;
    one["metric"] = curve.metric;
    one["unit"] = curve.unit;
    one["points"] = curve.points.size();
    one["mean_error"] = digits(curve.mean_error());
    one["worst_error"] = digits(curve.worst().error());
    one["worst_at"] = measurements::to_string(curve.worst().measured->parameters);
    one["within_limits"] = measurements::within_limits(curve);
    json["curves"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

// Every point beside its simulation.
std::string report_csv(const Found& found) {
  std::string out = "benchmark,parameters,metric,unit,measured,simulated,error\n";
  for (const measurements::Curve& curve : found.curves) {
    for (const measurements::CurvePoint& point : curve.points) {
      out += fmt::format("{},{},{},{},{},{:.6g},{:.6f}\n", curve.benchmark,
                         field(measurements::to_string(point.measured->parameters)), curve.metric, curve.unit,
                         point.measured->value, point.simulated, point.error());
    }
  }
  return out;
}

std::string report_table(const ValidationFit& found) {
  std::string out = changes_table(found);
  if (!found.at_bound.empty())
    out +=
        fmt::format("\nas far from where the search began as it may be:\n  {}\n", config::join(found.at_bound, "\n  "));
  report::Table table;
  table.column("fit", report::Table::Align::left);
  table.column("case", report::Table::Align::left);
  table.column("measured", report::Table::Align::right);
  table.column("was", report::Table::Align::right);
  table.column("error", report::Table::Align::right);
  table.column("is", report::Table::Align::right);
  table.column("error", report::Table::Align::right);
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

}  // namespace moire::calibrate
