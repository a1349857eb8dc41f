#include <cmath>
#include <nlohmann/json.hpp>

#include "app/study/report.hpp"
#include "sim/formats/number.hpp"

namespace moire::study {

namespace {

using Json = nlohmann::ordered_json;

// A value as the scenario has it. A file stands for itself: its name says more than its content.
Json json_of(const config::Node& node) {
  if (node.top && node.place.source) return node.place.source->name;
  switch (node.kind) {
    case config::Node::Kind::null:
      return nullptr;
    case config::Node::Kind::scalar:
      if (node.quoted) return node.text;
      if (node.text == "true") return true;
      if (node.text == "false") return false;
      if (const auto whole = formats::number_in<std::int64_t>(node.text)) return *whole;
      if (const auto real = formats::number_in<double>(node.text)) return *real;
      return node.text;
    case config::Node::Kind::sequence: {
      Json list = Json::array();
      for (const config::Node& item : node.items) list.push_back(json_of(item));
      return list;
    }
    case config::Node::Kind::map: {
      Json map = Json::object();
      for (const auto& entry : node.entries) map[entry.key] = json_of(entry.value);
      return map;
    }
  }
  return nullptr;
}

// Counts and byte amounts as whole numbers.
Json json_of(double value) {
  constexpr double exact = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::abs(value) <= exact) return static_cast<std::int64_t>(value);
  return value;
}

Json run_json(const Scenario& scenario, std::size_t number, const RunResult& result) {
  const Run run = run_of(scenario, number);
  Json json;
  if (!scenario.axes.empty()) json["point"] = run.point;
  if (run.variant) json["variant"] = scenario.variants[*run.variant].name;
  json["parameters"] = Json::object();
  for (const auto& [path, value] : parameters_of(scenario, run)) json["parameters"][path] = json_of(value);
  json["time_us"] = json_of(microseconds(result.time));
  json["metrics"] = Json::object();
  for (const Metric& metric : result.metrics) json["metrics"][metric.name] = json_of(metric.value);
  return json;
}

Json points_json(const Scenario& scenario) {
  Json points = Json::array();
  for (std::size_t point = 0; point < scenario.points(); ++point) {
    const Run run = run_of(scenario, point * std::max<std::size_t>(1, scenario.variants.size()));
    Json labels = Json::object();
    for (std::size_t a = 0; a < scenario.axes.size(); ++a) labels[scenario.axes[a].name] = run.choices[a]->name;
    points.push_back(labels);
  }
  return points;
}

}  // namespace

std::string report_json(const Scenario& scenario, const StudyResult& result) {
  Json json;
  json["scenario"] = scenario.name;
  json["description"] = scenario.description;
  if (!scenario.axes.empty()) json["points"] = points_json(scenario);
  json["runs"] = Json::array();
  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    json["runs"].push_back(run_json(scenario, number, result.runs[number]));
  }
  if (scenario.compare_to) {
    json["compared_to"] = scenario.variants[*scenario.compare_to].name;
    json["comparison"] = Json::array();
    for (const ComparisonRow& row : result.comparison) {
      Json one;
      if (!scenario.axes.empty()) one["point"] = row.point;
      one["variant"] = scenario.variants[row.variant].name;
      one["time_us"] = json_of(row.time_us);
      one["reduction_percent"] = json_of(row.reduction_percent);
      one["speedup"] = json_of(row.speedup);
      if (row.fraction_of_ideal) one["fraction_of_ideal"] = json_of(*row.fraction_of_ideal);
      json["comparison"].push_back(one);
    }
  }
  if (!result.summary.empty()) {
    json["summary"] = Json::array();
    for (const SummaryRow& row : result.summary) {
      Json one = {{"summary", to_string(row.kind)},
                  {"variant", scenario.variants[row.variant].name},
                  {"reduction_percent", json_of(row.reduction_percent)},
                  {"speedup", json_of(row.speedup)}};
      if (row.fraction_of_ideal) one["fraction_of_ideal"] = json_of(*row.fraction_of_ideal);
      json["summary"].push_back(std::move(one));
    }
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace moire::study
