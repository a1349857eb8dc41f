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

  // The same metric with another word for its subject.
  void rename(std::string other_subject);
  bool is(std::string_view kind) const { return info != nullptr && info->name == kind; }

  std::string name;  // derived from the members below
  double value = 0;
  const MetricInfo* info = nullptr;
  std::string subject;
  std::string phase;
  bool recorded = false;  // measured on hardware
};

// Returns the value of the metric with this name, as users write it.
std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view name);
// Returns the simulated value of this kind of metric for one subject (an operation or a queue).
std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view kind, std::string_view subject);

// Makes names unique. If an operation shares a name with a queue or with the run itself, the operation is renamed:
// "gemm_us" is the queue's, "gemm_operation_us" the operation's. Otherwise the later metric gets a number.
void tell_apart(std::vector<Metric>& metrics);

// All kinds of metrics, in the order of results.
const std::vector<MetricInfo>& metric_infos();

// Returns the unit that a metric's name ends in: "us", "%", "B", or "" for a count or a ratio.
std::string_view unit_of(std::string_view metric);

// Spells the name of an operation, a queue or a phase for names of metrics: "embedding#2" -> "embedding_2".
std::string metric_word(std::string_view name);
// The same for several names. A word that an earlier name has already gets a number: "a b", "a_b" -> "a_b", "a_b_2".
std::vector<std::string> metric_words(const std::vector<std::string>& names);

}  // namespace moire::study
