// The metrics of a run: names, units and meanings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moire::study {

struct MetricInfo {
  std::string name;  // `<operation>`, `<queue>`, `<phase>` stand for a name from the program
  std::string meaning;
};

// One metric. The kind and the subject are stored beside the name, so that no code has to parse names.
struct Metric {
  Metric() = default;
  // `kind`: a name of metric_infos(); `subject`: the operation or queue, as metric_word() spells it.
  Metric(std::string_view kind, double value, std::string subject = {}, std::string phase = {}, bool recorded = false);
  Metric(const MetricInfo& kind, double value, std::string subject = {}, std::string phase = {}, bool recorded = false);

  // Replaces the subject of the metric, and makes its name again.
  void rename(std::string other_subject);
  bool is(std::string_view kind) const { return info != nullptr && info->name == kind; }

  std::string name;  // made from `info`, `subject`, `phase` and `recorded`
  double value = 0;
  const MetricInfo* info = nullptr;
  std::string subject;
  std::string phase;
  bool recorded = false;  // measured on hardware
};

// Returns the value of the metric with this full name, such as "gemm_us"; nothing if there is none.
std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view name);
// Returns the simulated value of this kind of metric for one subject (an operation or a queue).
std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view kind, std::string_view subject);

// Makes the names of the metrics unique. If a metric of an operation has the same name as a metric of a queue or of the
// whole run, the operation's metric is renamed. For example, "gemm_us" stays the metric of a queue, and the metric of
// the operation becomes "gemm_operation_us". Of two operations with the same name, the later one gets a number.
void tell_apart(std::vector<Metric>& metrics);

// Returns all kinds of metrics, in the order in which results list them.
const std::vector<MetricInfo>& metric_infos();

// Returns the unit that a metric's name ends in: "us", "%", "B", or "" for a count or a ratio.
std::string_view unit_of(std::string_view metric);

// Returns the name of an operation, a queue or a phase as names of metrics contain it. It is in lower case, and has "_"
// in place of every character that is no letter or digit: "Embedding#2" -> "embedding_2".
std::string metric_word(std::string_view name);
// The same for several names. If an earlier name gives the same word, a number is added: "a b", "a_b" -> "a_b",
// "a_b_2".
std::vector<std::string> metric_words(const std::vector<std::string>& names);

}  // namespace moire::study
