// Makes a document of the result of a study: tables for people, and every metric of every run for programs. The row of
// a run that failed, deadlocked or was interrupted says so, and a list below the table has the reason.
#pragma once

#include <string>

#include "app/report/document.hpp"
#include "app/study/study.hpp"

namespace moire::study {

report::Document document_of(const Scenario& scenario, const StudyResult& result);

// Returns the main table for people. It lists the metrics if there is a single run. Otherwise it has a row for each
// point or for each variant; if both vary, points are rows and variants are columns.
report::Table results_table(const Scenario& scenario, const StudyResult& result);
// Adds a table of the time that each queue lost to each cause, if the scenario requests blame and has only one point.
void add_blame(const Scenario& scenario, const StudyResult& result, report::Document& document);
// Adds tables of recorded times beside the simulated times of each run, if kernels are replayed from a trace.
void add_recorded(const Scenario& scenario, const StudyResult& result, report::Document& document);

// Returns a table of what the simulations cost on the host, one row per run. The costs differ between repetitions.
report::Table stats_table(const Scenario& scenario, const StudyResult& result);

}  // namespace moire::study
