// The figures of a run: their names, units and meanings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moire::study {

struct Metric {
  std::string name;
  double value = 0;
};

std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view name);

struct MetricInfo {
  std::string name;  // `<operation>`, `<queue>` stand for the name of an operation, of a queue of the program
  std::string meaning;
};

// All metrics in the order of results.
const std::vector<MetricInfo>& metric_infos();

// The unit that a metric's name ends in: "us", "%", "B", or "" for a count or a ratio.
std::string_view unit_of(std::string_view metric);

// The name of an operation as a metric spells it: "embedding#2" -> "embedding_2".
std::string metric_word(std::string_view operation);

}  // namespace moire::study
