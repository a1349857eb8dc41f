#include "app/evidence/validate/expected.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "app/report/formats.hpp"
#include "sim/formats/csv.hpp"
#include "sim/formats/number.hpp"

namespace moire::validate {

namespace {

using Key = std::tuple<std::string, std::string, std::string>;

}  // namespace

std::string predictions_csv(const Validation& validation, const ValidationResult& result) {
  std::string title = validation.description;
  for (char& c : title) c = c == '\n' || c == '\r' ? ' ' : c;
  report::Table table{.columns = {report::left("group"), report::left("case"), report::left("metric"),
                                  report::right("value"), report::left("unit")}};
  for (const GroupResult& group : result.groups) {
    if (!has_own_errors(group)) continue;  // its values are computed from other groups, which the table contains
    for (const Case& one : group.cases) table.row({group.name, one.name, one.metric, one.simulated, one.unit});
  }
  report::Document document;
  document.add(std::move(table), report::in::csv);
  return fmt::format("# predictions of: {}\n{}", title, report::write_csv(document));
}

std::optional<std::vector<Expectation>> read_expected(const std::filesystem::path& file, const config::Place& asked,
                                                      config::Diagnostics& diagnostics) {
  const auto table = formats::read_csv(file, asked, diagnostics);
  if (!table) return std::nullopt;
  const std::size_t before = diagnostics.size();
  const auto group = table->column("group", table->header, diagnostics);
  const auto name = table->column("case", table->header, diagnostics);
  const auto metric = table->column("metric", table->header, diagnostics);
  const auto value = table->column("value", table->header, diagnostics);
  const auto unit = table->column("unit", table->header, diagnostics);
  if (diagnostics.size() > before) return std::nullopt;
  std::vector<Expectation> expected;
  std::map<Key, int> lines;
  for (const auto& row : table->rows) {
    Expectation one{row[*group].text, row[*name].text, row[*metric].text, row[*unit].text};
    const auto number = formats::number_in<double>(row[*value].text);
    if (number) {
      one.value = *number;
    } else {
      diagnostics.error(row[*value].place, config::in_quotes(row[*value].text) + " is not a number",
                        "write the table with 'moire validate FILE --predict'");
    }
    const auto [same, fresh] = lines.emplace(Key{one.group, one.name, one.metric}, row.front().place.line);
    if (!fresh)
      diagnostics.error(row.front().place, fmt::format("this case is already on line {}", same->second),
                        "keep one of them");
    expected.push_back(std::move(one));
  }
  if (diagnostics.size() > before) return std::nullopt;
  return expected;
}

std::size_t add_expectations(const std::vector<Expectation>& expected, std::vector<GroupResult>& groups) {
  std::map<Key, const Expectation*> by_key;
  for (const Expectation& one : expected) by_key.emplace(Key{one.group, one.name, one.metric}, &one);
  for (GroupResult& group : groups) {
    for (Case& one : group.cases) {
      const auto known = by_key.find(Key{group.name, one.name, one.metric});
      if (known == by_key.end() || known->second->unit != one.unit) continue;
      one.expected = known->second->value;
      by_key.erase(known);
    }
    for (const std::string& name : group.left_out)
      std::erase_if(by_key, [&](const auto& one) {
        return std::get<0>(one.first) == group.name && std::get<1>(one.first) == name;
      });
  }
  return by_key.size();
}

}  // namespace moire::validate
