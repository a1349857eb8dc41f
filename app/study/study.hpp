// Simulates all runs of a scenario and compares them.
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

// A run compared with the reference variant at the same point.
struct ComparisonRow {
  std::size_t point = 0;
  std::size_t variant = 0;
  double time_us = 0;
  double reduction_percent = 0;
  double speedup = 1;
  std::optional<double> fraction_of_ideal;   // if the run is compared with an ideal
  std::optional<double> overlap_efficiency;  // 1: all communication is hidden; 0: as little as in the reference
};

// The mean or the maximum of a variant's comparisons over all points. The mean is arithmetic for reductions, fractions
// and efficiencies, and geometric for speedups.
struct SummaryRow {
  SummaryKind kind = SummaryKind::mean;
  std::size_t variant = 0;
  double reduction_percent = 0;
  double speedup = 1;
  std::optional<double> fraction_of_ideal;   // over the points that have it
  std::optional<double> overlap_efficiency;  // over the points that have it
};

struct StudyResult {
  std::vector<RunResult> runs;                           // by number
  std::vector<std::optional<ComparisonRow>> comparison;  // by number; empty if run or reference did not end well
  std::vector<SummaryRow> summary;
  std::vector<std::string> notes;

  // If a signal asked the command to end: process::Interrupted. Otherwise the exception of the first run that did not
  // end well. Null if that run deadlocked, or if all runs ended well.
  std::exception_ptr failure;
  std::size_t ended_well() const;  // number of runs that ended well
};

struct StudyOptions {
  std::optional<std::filesystem::path> timeline{};
  std::size_t at_once = 1;  // runs in parallel
  Progress::Form progress = Progress::Form::terminal;
  KeptRuns* kept = nullptr;  // has runs that an earlier command finished, and keeps those of this command; may be null
};

// Returns the path of the timeline file of each run, by number. The file of a single run has the given name. With
// several runs the run's label precedes the extension: "out.pftrace" -> "out.128_fused.pftrace". If labels of several
// runs give the same file name, a number is added: "out.a_b.pftrace", "out.a_b_2.pftrace".
std::vector<std::filesystem::path> timeline_paths(const std::filesystem::path& given, const Scenario& scenario);

// Simulates the only run of each study in child processes, at most `at_once` in parallel; short studies share a child.
// Returns the results in the order of the studies, or throws the first failure. Calls `begin` with the index of the
// first study of each child that starts, and `tick` a few times per second.
std::vector<RunResult> run_all(const std::vector<const PreparedStudy*>& studies, std::size_t at_once,
                               const std::function<void(std::size_t)>& begin, const std::function<void()>& tick);

// Simulates every run in a child process and shows the progress. The result does not depend on `at_once`. If a run
// fails, the other runs are still simulated. If a signal asks this process to end, the result has the runs that ended
// before the signal. Throws core::RunFailure, before the first simulation, if a timeline cannot be written.
StudyResult run_study(const PreparedStudy& study, const StudyOptions& options);

// Fills result.comparison and result.summary from result.runs. With `compute_only`, also adds to the runs the metrics
// of the communication that they do not hide.
void compare(const Scenario& scenario, StudyResult& result);

std::string_view to_string(SummaryKind kind);

}  // namespace moire::study
