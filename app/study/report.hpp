// The result of a study as text: a table for people, JSON and CSV for programs. Same result, same bytes. A study that
// deadlocked has no result.
#pragma once

#include <string>

#include "app/study/study.hpp"

namespace moire::study {

std::string report_table(const Scenario& scenario, const StudyResult& result);
// Under the table where kernels are replayed from a trace: what was recorded beside what each run says; else empty.
std::string report_recorded(const Scenario& scenario, const StudyResult& result);
// Under the table where compare.blame is asked for, of one point: what each queue lost and to what; else empty.
std::string report_blame(const Scenario& scenario, const StudyResult& result);
std::string report_json(const Scenario& scenario, const StudyResult& result);
std::string report_csv(const Scenario& scenario, const StudyResult& result);

// What the simulation itself cost, one row a run. Differs from one run to the next.
std::string report_stats(const Scenario& scenario, const StudyResult& result);

// Column headings of the axes: their last key where that is enough to tell them apart.
std::vector<std::string> axis_headings(const Scenario& scenario);

}  // namespace moire::study
