// Notes for the reader of results: changes that another limit makes ineffective, changes without any effect, values
// that changed along with others, and why a run can beat its ideal.
#pragma once

#include <string>
#include <vector>

#include "app/study/study.hpp"

namespace moire::study {

// Returns the notes on one run that are known before it is simulated.
std::vector<std::string> notes_of(const Scenario& scenario, const Run& run, const PreparedRun& prepared);

// Returns the notes on a study, one line each: the notes of its runs, with the number of runs that have them, and the
// notes that follow from results.
std::vector<std::string> notes_of(const PreparedStudy& study, const StudyResult& result);

}  // namespace moire::study
