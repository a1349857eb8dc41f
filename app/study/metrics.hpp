// The figures of a run: their names, units and meanings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moire::study {

struct MetricInfo {
  std::string name;  // `<operation>`, `<queue>`, `<phase>` stand for the name of one of the program
  std::string meaning;
};

// One figure. What it is of stands beside its name, so that nobody has to take names apart.
struct Metric {
  Metric() = default;
  // `kind`: the name of one of metric_infos(); `subject`: the operation or queue it is of, as metric_word() spells it.
  Metric(std::string_view kind, double value, std::string subject = {}, std::string phase = {}, bool recorded = false);
  Metric(const MetricInfo& kind, double value, std::string subject = {}, std::string phase = {}, bool recorded = false);

  // The same figure under the word of another subject.
  void rename(std::string other_subject);
  bool is(std::string_view kind) const { return info != nullptr && info->name == kind; }

  std::string name;  // rendered from what follows
  double value = 0;
  const MetricInfo* info = nullptr;
  std::string subject;
  std::string phase;
  bool recorded = false;  // on hardware
};

// By public name, as users write it.
std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view name);
// What was simulated of a subject.
std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view kind, std::string_view subject);

// No two metrics may have one name. Of an operation and a queue, or the run itself, that share one the operation's is
// renamed: "gemm_us" is the queue's, "gemm_operation_us" the operation's. Of two others the later one gets a number.
void tell_apart(std::vector<Metric>& metrics);

// All metrics in the order of results.
const std::vector<MetricInfo>& metric_infos();

// The unit that a metric's name ends in: "us", "%", "B", or "" for a count or a ratio.
std::string_view unit_of(std::string_view metric);

// The name of an operation, a queue or a phase as a metric spells it: "embedding#2" -> "embedding_2".
std::string metric_word(std::string_view name);
// The words of several; a word that is taken gets a number: "a b", "a_b" -> "a_b", "a_b_2".
std::vector<std::string> metric_words(const std::vector<std::string>& names);

}  // namespace moire::study
