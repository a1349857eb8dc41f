// The result of a study as a document: tables for people, every metric of every run for programs. A run that did not
// end well says so in its row, and why below.
#pragma once

#include <string>

#include "app/report/document.hpp"
#include "app/study/study.hpp"

namespace moire::study {

report::Document document_of(const Scenario& scenario, const StudyResult& result);

// What people read first: the metrics of one run, a row for each point or variant, or points down and variants across.
report::Table results_table(const Scenario& scenario, const StudyResult& result);
// Where compare.blame is asked for, of one point: what each queue lost and to what.
void add_blame(const Scenario& scenario, const StudyResult& result, report::Document& document);
// Where kernels are replayed from a trace: what was recorded beside what each run says.
void add_recorded(const Scenario& scenario, const StudyResult& result, report::Document& document);

// What the simulation itself cost, one row a run. Differs from one run to the next.
report::Table stats_table(const Scenario& scenario, const StudyResult& result);

}  // namespace moire::study
