// Writes and reads the table of predictions. `moire validate --predict` prints this table, and the key `expected` of a
// validation file names it.
#pragma once

#include "app/evidence/validate/validation.hpp"

namespace moire::validate {

std::string predictions_csv(const Validation& validation, const ValidationResult& result);

std::optional<std::vector<Expectation>> read_expected(const std::filesystem::path& file, const config::Place& asked,
                                                      config::Diagnostics& diagnostics);

// Adds the expected values to the cases with the same group, name, metric and unit. Returns the number of expectations
// without such a case. Does not count cases that a group left out, because they were not measured.
std::size_t add_expectations(const std::vector<Expectation>& expected, std::vector<GroupResult>& groups);

}  // namespace moire::validate
