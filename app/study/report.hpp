// Makes a document of the result of a study: tables for people, and every metric of every run for programs. The row of
// a run that did not end well shows this, and a list below the table has the reason.
#pragma once

#include <string>

#include "app/report/document.hpp"
#include "app/study/study.hpp"

namespace moire::study {

report::Document document_of(const Scenario& scenario, const StudyResult& result);

// The main table for people: the metrics of a single run, a row for each point or variant, or points as rows and
// variants as columns.
report::Table results_table(const Scenario& scenario, const StudyResult& result);
// Adds a table of what each queue lost, and why, if compare.blame is set and there is only one point.
void add_blame(const Scenario& scenario, const StudyResult& result, report::Document& document);
// Adds a table of the recorded values beside those of each run, if kernels are replayed from a trace.
void add_recorded(const Scenario& scenario, const StudyResult& result, report::Document& document);

// Returns the cost of the simulation itself, one row per run. It differs between repetitions.
report::Table stats_table(const Scenario& scenario, const StudyResult& result);

}  // namespace moire::study
