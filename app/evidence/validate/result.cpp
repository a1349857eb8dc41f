#include "app/evidence/validate/result.hpp"

#include <algorithm>

namespace moire::validate {

namespace {

std::optional<double> error_of(const std::optional<double>& value, const Case& one) {
  if (!value || !one.measured) return std::nullopt;
  if (!one.in_points && *one.measured == 0) return *value == 0 ? 0 : 100;
  return one.in_points ? *value - *one.measured : 100 * (*value - *one.measured) / *one.measured;
}

}  // namespace

std::optional<double> Case::error() const { return error_of(simulated, *this); }
std::optional<double> Case::expected_error() const { return error_of(expected, *this); }

void GroupResult::summarise() {
  if (kind == "trace") return;  // the errors of a trace are its metrics
  std::vector<double> errors;
  std::vector<double> expected_errors;
  std::vector<const Case*> with_error;
  for (const Case& one : cases) {
    if (const auto error = one.error()) {
      errors.push_back(*error);
      with_error.push_back(&one);
    }
    if (const auto error = one.expected_error()) expected_errors.push_back(*error);
  }
  summary = validate::summarise(errors);
  expected_summary = validate::summarise(expected_errors);
  worst_case = with_error.empty() ? "" : with_error[summary.worst_at]->name;

  curves.clear();
  for (const Case& first : cases) {
    const auto known = [&first](const Curve& curve) { return curve.name == first.curve; };
    if (first.curve.empty() || std::any_of(curves.begin(), curves.end(), known)) continue;
    std::vector<double> own;
    std::vector<const Case*> owners;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      if (with_error[i]->curve != first.curve) continue;
      own.push_back(errors[i]);
      owners.push_back(with_error[i]);
    }
    Curve curve{first.curve, validate::summarise(own), ""};
    if (!own.empty()) curve.worst_case = owners[curve.summary.worst_at]->name;
    curves.push_back(std::move(curve));
  }
}

bool ValidationResult::passed() const {
  return std::all_of(groups.begin(), groups.end(), [](const GroupResult& group) {
    return std::all_of(group.limits.begin(), group.limits.end(), [](const Limit& limit) { return limit.held(); });
  });
}

}  // namespace moire::validate
