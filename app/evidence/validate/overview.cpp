#include "app/evidence/validate/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/evidence/validate/machines.hpp"
#include "app/evidence/validate/report.hpp"

namespace moire::validate {

namespace {

using report::Cell;
using report::left;
using report::right;

struct Row {
  const Validated* file;
  const GroupResult* group;
  double size = 0;  // sum of the absolute errors in percent; 0 for a difference, an effect or a speed-up
};

bool fitted(const Validation& validation, std::size_t group) {
  return std::any_of(validation.fits.begin(), validation.fits.end(), [&](const Fit& fit) {
    return std::find(fit.groups.begin(), fit.groups.end(), group) != fit.groups.end();
  });
}

// Returns the mean difference between the machines that measured the group's cases, or an empty cell.
Cell between_machines(const GroupResult& group) {
  for (const study::Metric& metric : group.metrics)
    if (metric.name == machines_percent.name) return size_of(metric.value, group.error_unit);
  return {};
}

// Returns the name of the file and its folder, "h200x4/c3.yaml", because files in different folders have equal names.
std::string short_name(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path().filename();
  return folder.empty() ? file.string() : (folder / file.filename()).string();
}

}  // namespace

report::Document overview_of(const std::vector<Validated>& files) {
  std::vector<Row> rows;
  double all = 0;
  std::size_t cases = 0;
  for (const Validated& one : files) {
    for (const GroupResult& group : one.result.groups) {
      if (group.summary.cases == 0) continue;
      const bool shared = has_own_errors(group) && group.kind != "trace" && group.error_unit == "%";
      const double size = shared ? group.summary.mean * static_cast<double>(group.summary.cases) : 0;
      rows.push_back({&one, &group, size});
      all += size;
      if (shared) cases += group.summary.cases;
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.size > b.size; });

  report::Table table{
      .key = "groups",
      .columns = {left("file"), left("group"), right("cases"), right("mean"), right("worst"), right("bias"),
                  right("between machines").keyed("machines"), right("of all errors").keyed("share"),
                  right("as predicted").keyed("predicted_mean"), left("note"), left("limits")}};
  for (const Row& row : rows) {
    const GroupResult& group = *row.group;
    const std::string& unit = group.error_unit;
    const auto number = static_cast<std::size_t>(&group - row.file->result.groups.data());
    const bool predicted = group.expected_summary.cases > 0;
    table.row({short_name(row.file->file), group.name, group.summary.cases, size_of(group.summary.mean, unit),
               size_of(group.summary.worst, unit), error_of(group.summary.bias, unit), between_machines(group),
               row.size > 0 ? Cell(report::share(row.size / all)) : Cell(),
               predicted ? Cell(size_of(group.expected_summary.mean, unit)) : Cell(),
               number < row.file->validation.groups.size() && fitted(row.file->validation, number) ? "fitted" : "",
               outcome_text(group)});
  }
  report::Document document;
  document.title = fmt::format("Errors of {} validation files: {} cases, mean {:.1f} %", files.size(), cases,
                               cases == 0 ? 0 : all / static_cast<double>(cases));
  document.add(std::move(table), report::in::all);
  return document;
}

}  // namespace moire::validate
