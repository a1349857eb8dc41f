#include "app/evidence/calibrate/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/report/values.hpp"
#include "sim/config/suggest.hpp"

namespace moire::calibrate {

namespace {

namespace in = report::in;
using report::Cell;
using report::Field;
using report::left;
using report::Number;
using report::right;

// Number of decimals of ratios in JSON and CSV. Further digits of an error are rounding errors.
constexpr int decimals = 6;

Number to_programs(Number number) {
  number.decimals = decimals;
  return number;
}
Number share(double ratio) { return to_programs(report::share(ratio)); }
Number signed_share(double ratio) { return to_programs(report::signed_share(ratio)); }

// Returns an error for CSV, always with six decimals, even if they are zeros.
std::string error_text(double error) { return fmt::format("{:.6f}", error); }
std::string value_text(double value) { return fmt::format("{:.6g}", value); }

report::Table changes_table(const Found& found) {
  report::Table table{
      .key = "parameters",
      .columns = {left("parameter").keyed("path"), right("was", in::people).or_dash(), right("before", in::json),
                  right("is", in::people), right("after", in::json), right("residual").or_dash(),
                  right("worst").or_dash(), right("points"), left("source")}};
  for (const Change& change : found.changes) {
    const bool known = !change.before.empty();
    table.row({change.path, known ? Cell(change.before) : nullptr, known ? report::value_of(change.before) : nullptr,
               change.after, report::value_of(change.after), change.residual ? Cell(share(*change.residual)) : nullptr,
               change.worst ? Cell(signed_share(*change.worst)) : nullptr, change.points, change.source});
  }
  return table;
}

Number measured(double value, const std::string& unit) {
  return {.value = value, .unit = unit == "1" ? "" : unit, .digits = 4, .style = Number::Style::significant};
}

report::Table curves_table(const Found& found) {
  report::Table table{
      .key = "curves",
      .columns = {left("curve", in::people), left("benchmark", in::json), left("metric", in::json),
                  left("unit", in::json), right("points"), right("mean error").keyed("mean_error"),
                  right("worst").keyed("worst_error"), right("measured", in::people), right("simulated", in::people),
                  left("worst at", in::people), left("worst_at", in::json), left("within_limits", in::json)}};
  for (const measurements::Curve& curve : found.curves) {
    const measurements::CurvePoint& worst = curve.worst();
    const std::string at = measurements::to_string(worst.measured->parameters);
    const bool held = measurements::within_limits(curve);
    table.row({curve.benchmark + " " + curve.metric, curve.benchmark, curve.metric, curve.unit, curve.points.size(),
               share(curve.mean_error()), signed_share(worst.error()), measured(worst.measured->value, curve.unit),
               measured(worst.simulated, curve.unit), at + (held ? "" : " (!)"), at, held});
  }
  return table;
}

// Returns a table of all points with their simulated values.
report::Table points_table(const Found& found) {
  report::Table table{.columns = {left("benchmark"), left("parameters"), left("metric"), left("unit"),
                                  right("measured"), right("simulated"), right("error")}};
  for (const measurements::Curve& curve : found.curves) {
    for (const measurements::CurvePoint& point : curve.points)
      table.row({curve.benchmark, measurements::to_string(point.measured->parameters), curve.metric, curve.unit,
                 point.measured->value, value_text(point.simulated), error_text(point.error())});
  }
  return table;
}

std::string outcome(const Found& found) {
  const auto all = static_cast<std::ptrdiff_t>(found.curves.size());
  const auto held = std::count_if(found.curves.begin(), found.curves.end(), measurements::within_limits);
  return fmt::format("{} of {} curves have errors of at most {:.0f} % mean and {:.0f} % worst{}", held, all,
                     measurements::curve_mean_limit * 100, measurements::curve_worst_limit * 100,
                     held == all ? "" : "; (!) marks the others");
}

report::Table cases_table(const ValidationFit& found) {
  const auto error = [](double simulated, const FittedCase& one) { return simulated / one.measured - 1; };
  report::Table table{
      .key = "cases",
      .columns = {left("fit"), left("group", in::programs), left("case", in::people), left("case", in::programs),
                  left("unit", in::programs), right("measured"), right("was", in::people), right("error", in::people),
                  right("is", in::people), right("before", in::json), right("after", in::json),
                  right("before", in::csv), right("after", in::csv), right("error", in::people | in::json),
                  right("error", in::csv)}};
  for (const FittedCase& one : found.cases) {
    const auto value = [&one](double number) { return to_programs({.value = number, .unit = one.unit}); };
    const double before = error(one.before, one);
    const double after = error(one.after, one);
    table.row({one.fit, one.group, one.group == one.name ? one.name : one.group + ", " + one.name, one.name, one.unit,
               Number{.value = one.measured, .unit = one.unit}, value(one.before), signed_share(before),
               value(one.after), value(one.before), value(one.after), value_text(one.before), value_text(one.after),
               signed_share(after), error_text(after)});
  }
  return table;
}

}  // namespace

report::Document document_of(const measurements::Measurements& measurements, const Found& found) {
  report::Document document;
  document.title = fmt::format("{}x {}, {}, {} values", measurements.gpus, measurements.gpu, measurements.date,
                               measurements.values.size());
  document.add(Field{"gpu", measurements.gpu});
  document.add(Field{"gpus", measurements.gpus});
  document.add(Field{"date", measurements.date});
  document.add(Field{"values", measurements.values.size()});
  document.add(changes_table(found));
  document.add(Field{"kept", found.kept});
  if (!found.kept.empty())
    document.add(report::Note{"unchanged from the file:\n  " + config::join(found.kept, "\n  ")});
  document.add(curves_table(found), found.curves.empty() ? in::json : in::people | in::json);
  if (!found.curves.empty()) document.add(report::Note{outcome(found)});
  document.add(points_table(found), in::csv);
  return document;
}

report::Document document_of(const ValidationFit& found) {
  report::Document document;
  document.add(changes_table(found));
  document.add(Field{"at_bound", found.at_bound});
  if (!found.at_bound.empty())
    document.add(report::Note{"at the limit of the search range:\n  " + config::join(found.at_bound, "\n  ")});
  document.add(cases_table(found), in::all);
  return document;
}

}  // namespace moire::calibrate
