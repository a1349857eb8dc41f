// What a reader of the results has to be told beside them: changes that something else keeps back, changes that change
// nothing, values that went with others, and what more than the ideal means.
#pragma once

#include <string>
#include <vector>

#include "app/study/study.hpp"

namespace moire::study {

// Of one run, before it is simulated.
std::vector<std::string> notes_of(const Scenario& scenario, const Run& run, const PreparedRun& prepared);

// Of a study, one line each: those of its runs, with how many of them have it, and what their results say.
std::vector<std::string> notes_of(const PreparedStudy& study, const StudyResult& result);

}  // namespace moire::study
