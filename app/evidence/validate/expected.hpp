// The table of predictions that `moire validate --predict` prints and `expected:` names.
#pragma once

#include "app/evidence/validate/validation.hpp"

namespace moire::validate {

std::string predictions_csv(const Validation& validation, const ValidationResult& result);

std::optional<std::vector<Expectation>> read_expected(const std::filesystem::path& file, const config::Place& asked,
                                                      config::Diagnostics& diagnostics);

// Adds the expected values to the cases with the same group, name, metric and unit. Returns the number of expectations
// without such a case.
std::size_t add_expectations(const std::vector<Expectation>& expected, std::vector<GroupResult>& groups);

}  // namespace moire::validate
