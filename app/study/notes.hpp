// Notes for the reader of results: changes that another limit makes ineffective, changes without any effect, values
// that changed along with others, and why a run can beat its ideal.
#pragma once

#include <string>
#include <vector>

#include "app/study/study.hpp"

namespace moire::study {

// Notes on one run, before it is simulated.
std::vector<std::string> notes_of(const Scenario& scenario, const Run& run, const PreparedRun& prepared);

// Notes on a study, one line each: those of its runs, with the number of runs that have them, and those that follow
// from results.
std::vector<std::string> notes_of(const PreparedStudy& study, const StudyResult& result);

}  // namespace moire::study
