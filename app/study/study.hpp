// All runs of a scenario, and what they say beside each other.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/study/kept_runs.hpp"
#include "app/study/progress.hpp"
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
  std::optional<double>
      overlap_efficiency;  // 1: all communication is hidden, 0: as little as in what it is compared with
};

// Over all points: "mean" is the arithmetic mean of reductions and fractions and the geometric mean of the speedups.
struct SummaryRow {
  SummaryKind kind = SummaryKind::mean;
  std::size_t variant = 0;
  double reduction_percent = 0;
  double speedup = 1;
  std::optional<double> fraction_of_ideal;   // over the points that have one
  std::optional<double> overlap_efficiency;  // the same
};

struct StudyResult {
  std::vector<RunResult> runs;                           // by number
  std::vector<std::optional<ComparisonRow>> comparison;  // by number; none where one of the two did not end well
  std::vector<SummaryRow> summary;
  std::vector<std::string> notes;

  // Of the first run that did not end well, or of the signal that asked to end; null where it deadlocked, or all are
  // well.
  std::exception_ptr failure;
  std::size_t ended_well() const;
};

struct StudyOptions {
  std::optional<std::filesystem::path> timeline{};
  std::size_t at_once = 1;  // runs side by side
  Progress::Form progress = Progress::Form::terminal;
  KeptRuns* kept = nullptr;  // runs that were simulated before, and where those that are go
};

// Where the timelines of runs go, by number: the given name where there is one run; else the run's label is put before
// the extension, "out.pftrace" -> "out.128_fused.pftrace". Labels that are spelled alike as names of files are
// numbered: "out.a_b.pftrace", "out.a_b_2.pftrace".
std::vector<std::filesystem::path> timeline_paths(const std::filesystem::path& given, const Scenario& scenario);

// The only run of each study, each in a process of its own, `at_once` side by side; results in the order of the
// studies.
std::vector<RunResult> run_all(const std::vector<const PreparedStudy*>& studies, std::size_t at_once,
                               const std::function<void(std::size_t)>& begin, const std::function<void()>& tick);

// Simulates every run, each in a process of its own, and shows the progress on a terminal. The result is the same
// whatever `at_once` is. A run that fails, or a signal that asks to end, leaves the others as they are. Throws
// core::RunFailure where a timeline cannot be written, before anything is simulated.
StudyResult run_study(const PreparedStudy& study, const StudyOptions& options);

// Fills in comparison and summary from the runs.
void compare(const Scenario& scenario, StudyResult& result);

std::string_view to_string(SummaryKind kind);

}  // namespace moire::study
