#include "app/import/tensor/ratio_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/import/system_file.hpp"
#include "app/report/formats.hpp"
#include "sim/config/units.hpp"

namespace moire::importing {

namespace {

using report::Number;

// Smallest and largest ratio that a codec of a scenario accepts.
constexpr double least_ratio = 0.5, most_ratio = 64;

Number ratio(double value) { return {.value = value, .digits = 3}; }
Number error(double value) { return {.value = value, .digits = 3, .style = Number::Style::significant}; }

std::string size(double bytes) { return config::format_quantity(Bytes{bytes}); }

std::string title_of(const RatioReport& report) {
  std::map<std::string, std::size_t> kinds;  // ordered, so that the title is the same on every machine
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : report.tensors) {
    if (!tensor.values) continue;
    ++kinds[name_of(*tensor.values)];
    ++tensors;
    bytes += tensor.bytes;
  }
  const std::string only = report.tensors.size() == 1 && !report.tensors[0].name.empty()
                               ? " (" + config::in_quotes(report.tensors[0].name) + ")"
                               : "";
  std::string kinds_told;
  for (const auto& [kind, times] : kinds) kinds_told += (kinds_told.empty() ? "" : ", ") + kind;
  return fmt::format("{}: {} of {}{}, {}, in chunks of {}", report.file, report::plural(tensors, "tensor"), kinds_told,
                     only, size(static_cast<double>(bytes)), size(static_cast<double>(report.chunk)));
}

report::Document document_of(const RatioReport& report) {
  report::Document document;
  document.title = title_of(report);
  const bool lossy =
      std::any_of(report.rows.begin(), report.rows.end(), [](const RatioRow& row) { return row.error > 0; });
  report::Table table{.columns = {report::left("codec"), report::right("chunks"), report::right("mean ratio"),
                                  report::right("least"), report::right("most")}};
  if (lossy) {
    table.columns.push_back(report::right("largest error").or_dash());
    table.columns.push_back(report::right("over largest value").or_dash());
  }
  report::List meanings{.items = {"mean ratio: uncompressed bytes of all chunks over their compressed bytes"}};
  for (const RatioRow& row : report.rows) {
    if (row.ratios.empty()) continue;
    const auto [least, most] = std::minmax_element(row.ratios.begin(), row.ratios.end());
    std::vector<report::Cell> cells = {row.coder->name(), row.ratios.size(), ratio(row.plain / row.coded),
                                       ratio(*least), ratio(*most)};
    if (row.error > 0) cells.insert(cells.end(), {error(row.error), error(row.relative)});
    table.row(std::move(cells));
    meanings.items.push_back(row.coder->meaning());
  }
  document.add(std::move(table));
  document.add(std::move(meanings));
  return document;
}

// Returns notes on the tensors and chunks that the ratios leave out.
std::vector<std::string> notes_of(const RatioReport& report) {
  std::vector<std::string> notes;
  std::map<std::string, std::vector<std::string>> others;  // by kind
  for (const Tensor& tensor : report.tensors)
    if (!tensor.values) others[tensor.kind].push_back(config::in_quotes(tensor.name));
  for (const auto& [kind, names] : others)
    notes.push_back(fmt::format("left out: {} of {}, which is not a floating-point type of 16, 32 or 64 bits: {}{}",
                                report::plural(names.size(), "tensor"), kind, names.front(),
                                names.size() > 1 ? ", ..." : ""));
  for (const RatioRow& row : report.rows) {
    const auto unfit = static_cast<std::size_t>(
        std::count_if(report.tensors.begin(), report.tensors.end(),
                      [&row](const Tensor& tensor) { return tensor.values && !row.coder->fits(*tensor.values); }));
    if (unfit > 0)
      notes.push_back(fmt::format("{} leaves out {}: it compresses only {}", row.coder->name(),
                                  report::plural(unfit, "tensor"), row.coder->takes()));
    if (row.without_code > 0)
      notes.push_back(fmt::format("{} leaves out {} with values that are not finite; the first one begins at byte {}",
                                  row.coder->name(), report::plural(row.without_code, "chunk"),
                                  row.first_without_code));
  }
  return notes;
}

// Returns a text with escapes, so that it can stand in a double-quoted string of YAML.
std::string quotable(const std::string& text) {
  std::string out;
  for (const char c : config::printable(text)) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out;
}

std::string comment(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    out += line.empty() ? "#\n" : line.size() < 118 ? "# " + line + "\n" : wrapped(line, "# ", "#   ");
    at = end + 1;
  }
  return out;
}

// Returns YAML for a codec of a scenario: a list for its key `ratios`, or the only ratio of a codec with a fixed rate.
std::string values_of(const RatioRow& row, Float values) {
  if (const auto fixed = row.coder->fixed_ratio(values))
    return fmt::format(
        "# For the key `ratio` of a codec with a fixed rate. The `error_bound` of these values is {:.4g}\nvalue: "
        "{:g}\n",
        row.relative, *fixed);
  std::string out = "# For the key `ratios` of a codec: one ratio per chunk, in the order of the chunks.\nvalue:\n  [";
  std::size_t column = 3;
  for (std::size_t i = 0; i < row.ratios.size(); ++i) {
    const std::string text = fmt::format("{:.5g}", std::clamp(row.ratios[i], least_ratio, most_ratio));
    const bool breaks = column + text.size() + 2 > 118;
    if (i > 0) out += breaks ? ",\n   " : ", ";
    column = (breaks ? 3 : column + (i > 0 ? 2 : 0)) + text.size();
    out += text;
  }
  return out + "]\n";
}

}  // namespace

void RatioRow::add(double bytes, const Coded& chunk) {
  ratios.push_back(bytes / chunk.bytes);
  plain += bytes;
  coded += chunk.bytes;
  error = std::max(error, chunk.error);
  if (chunk.largest > 0) relative = std::max(relative, chunk.error / chunk.largest);
}

Imported RatioReport::made(bool list) const {
  Imported made{.notes = notes_of(*this), .table = report::write_text(document_of(*this))};
  if (!list) return made;
  const RatioRow& row = rows.front();
  const auto beyond =
      std::count_if(row.ratios.begin(), row.ratios.end(), [](double r) { return r < least_ratio || r > most_ratio; });
  if (beyond > 0)
    made.notes.push_back(fmt::format("written as the nearer limit: {} outside {} to {}, the range that a codec accepts",
                                     report::plural(static_cast<std::size_t>(beyond), "ratio"), least_ratio,
                                     most_ratio));
  Float values = Float::fp32;
  for (const Tensor& tensor : tensors)
    if (tensor.values && row.coder->fits(*tensor.values)) values = *tensor.values;
  made.yaml = "# Measured by `moire import tensor`.\n" + comment(made.table);
  for (const std::string& note : made.notes) made.yaml += comment("Note: " + note);
  made.yaml += fmt::format("sources: {{measured: \"moire import tensor --codec {}: {}\"}}\nsource: measured\n",
                           row.coder->name(), quotable(title_of(*this)));
  made.yaml += values_of(row, values);
  return made;
}

}  // namespace moire::importing
