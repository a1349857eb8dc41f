#include <cmath>
#include <nlohmann/json.hpp>

#include "app/evidence/validate/report.hpp"

namespace moire::validate {

namespace {

using Json = nlohmann::ordered_json;

// More digits of an error say nothing, and would change with the order of a sum.
Json rounded(double value) { return std::round(value * 1e6) / 1e6 + 0.0; }
Json optional_rounded(const std::optional<double>& value) { return value ? rounded(*value) : Json(nullptr); }

Json json_of(const Summary& summary, const std::string& worst_case) {
  Json json;
  json["cases"] = summary.cases;
  if (summary.cases == 0) return json;
  json["mean"] = rounded(summary.mean);
  json["median"] = rounded(summary.median);
  json["percentile_95"] = rounded(summary.percentile_95);
  json["worst"] = rounded(summary.worst);
  if (!worst_case.empty()) json["worst_case"] = worst_case;
  json["bias"] = rounded(summary.bias);
  return json;
}

Json json_of(const Case& one) {
  Json json;
  json["case"] = one.name;
  if (!one.curve.empty()) json["curve"] = one.curve;
  json["metric"] = one.metric;
  json["unit"] = one.unit;
  const auto value = [&one](double number) { return one.in_points ? rounded(number) : Json(number); };
  json["measured"] = one.measured ? value(*one.measured) : Json(nullptr);
  if (one.low) json["low"] = *one.low;
  if (one.high) json["high"] = *one.high;
  if (one.expected) {
    json["expected"] = value(*one.expected);
    json["expected_error"] = optional_rounded(one.expected_error());
  }
  json["simulated"] = value(one.simulated);
  json["error"] = optional_rounded(one.error());
  return json;
}

Json json_of(const GroupResult& group) {
  Json json;
  json["name"] = group.name;
  json["kind"] = group.kind;
  json["error_unit"] = group.error_unit;
  json["measured"] = Json::array();
  for (const Origin& origin : group.origins) {
    Json one;
    if (!origin.file.empty()) one["file"] = origin.file;
    one["about"] = Json::object();
    for (const auto& [key, value] : origin.about) one["about"][key] = value;
    json["measured"].push_back(one);
  }
  json["cases"] = Json::array();
  for (const Case& one : group.cases) json["cases"].push_back(json_of(one));
  json["left_out"] = group.left_out;
  json["summary"] = json_of(group.summary, group.worst_case);
  if (group.expected_summary.cases > 0) json["expected_summary"] = json_of(group.expected_summary, "");
  if (!group.curves.empty()) {
    json["curves"] = Json::array();
    for (const Curve& curve : group.curves) {
      Json one;
      one["curve"] = curve.name;
      one.update(json_of(curve.summary, curve.worst_case));
      json["curves"].push_back(one);
    }
  }
  if (!group.metrics.empty()) {
    json["metrics"] = Json::object();
    for (const study::Metric& metric : group.metrics) json["metrics"][metric.name] = metric.value;
  }
  json["limits"] = Json::array();
  for (const Limit& limit : group.limits) {
    Json one;
    one["on"] = limit.on;
    if (!limit.at.empty()) one["at"] = limit.at;
    one["limit"] = limit.most;
    one["value"] = rounded(limit.value);
    one["held"] = limit.held();
    json["limits"].push_back(one);
  }
  return json;
}

}  // namespace

std::string report_json(const Validation& validation, const ValidationResult& result) {
  Json json;
  json["validation"] = validation.name;
  json["description"] = validation.description;
  json["groups"] = Json::array();
  for (const GroupResult& group : result.groups) json["groups"].push_back(json_of(group));
  json["overall"] = json_of(result.overall, "");
  json["passed"] = result.passed();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace moire::validate
