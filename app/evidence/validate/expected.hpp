// The table of predictions: what `moire validate --predict` prints and `expected:` names.
#pragma once

#include "app/evidence/validate/validation.hpp"

namespace moire::validate {

std::string predictions_csv(const Validation& validation, const ValidationResult& result);

std::optional<std::vector<Expectation>> read_expected(const std::filesystem::path& file, const config::Place& asked,
                                                      config::Diagnostics& diagnostics);

// Puts the expectations beside the cases, which they are matched with by group, case and metric; returns how many have
// no case.
std::size_t add_expectations(const std::vector<Expectation>& expected, std::vector<GroupResult>& groups);

}  // namespace moire::validate
