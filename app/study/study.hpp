// All runs of a scenario, and what they say beside each other.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/study/simulate.hpp"

namespace moire::study {

// One run against the run of the variant compared with, at the same point.
struct ComparisonRow {
  std::size_t point = 0;
  std::size_t variant = 0;
  double time_us = 0;
  double reduction_percent = 0;
  double speedup = 1;
  std::optional<double> fraction_of_ideal;  // the run's, where it is held against an ideal
};

// Over all points: "mean" is the arithmetic mean of reductions and fractions and the geometric mean of the speedups.
struct SummaryRow {
  SummaryKind kind = SummaryKind::mean;
  std::size_t variant = 0;
  double reduction_percent = 0;
  double speedup = 1;
  std::optional<double> fraction_of_ideal;  // over the points that have one
};

struct StudyResult {
  std::vector<RunResult> runs;  // by number; shorter than the scenario's where one deadlocked, which is then the last
  std::vector<ComparisonRow> comparison;
  std::vector<SummaryRow> summary;
  std::vector<std::string> notes;

  bool deadlocked() const { return !runs.empty() && !runs.back().deadlock.empty(); }
};

struct StudyOptions {
  std::optional<std::filesystem::path> timeline{};
  std::size_t at_once = 1;  // runs side by side
};

// Where the timeline of a run goes: the given name where there is one run; else the run's label is put before the
// extension, "out.pftrace" -> "out.128_fused.pftrace".
std::filesystem::path timeline_path(const std::filesystem::path& given, const Scenario& scenario, const Run& run);

// The only run of each study, each in a process of its own, `at_once` side by side; results in the order of the
// studies.
std::vector<RunResult> run_all(const std::vector<const PreparedStudy*>& studies, std::size_t at_once,
                               const std::function<void(std::size_t)>& begin, const std::function<void()>& tick);

// Simulates every run, each in a process of its own, and shows the progress on a terminal. The result is the same
// whatever `at_once` is.
StudyResult run_study(const PreparedStudy& study, const StudyOptions& options);

// Fills in comparison and summary from the runs.
void compare(const Scenario& scenario, StudyResult& result);

std::string_view to_string(SummaryKind kind);

}  // namespace moire::study
