// The result of a study as a document: tables for people, and every metric of every run for programs. The row of a run
// that did not end well says so, and the reason follows below.
#pragma once

#include <string>

#include "app/report/document.hpp"
#include "app/study/study.hpp"

namespace moire::study {

report::Document document_of(const Scenario& scenario, const StudyResult& result);

// The main table for people: the metrics of a single run, a row for each point or variant, or points as rows and
// variants as columns.
report::Table results_table(const Scenario& scenario, const StudyResult& result);
// If compare.blame is set, and for one point: what each queue lost, and why.
void add_blame(const Scenario& scenario, const StudyResult& result, report::Document& document);
// If kernels are replayed from a trace: the recorded values beside those of each run.
void add_recorded(const Scenario& scenario, const StudyResult& result, report::Document& document);

// The cost of the simulation itself, a row for each run. Differs between repetitions.
report::Table stats_table(const Scenario& scenario, const StudyResult& result);

}  // namespace moire::study
