// A page without anything to load: styles and figures are in it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/evidence/validate/figures.hpp"
#include "app/evidence/validate/report.hpp"

namespace moire::validate {

namespace {

constexpr const char* style = R"(
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 75em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.25em; margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15em 0.7em; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
th { border-bottom: 1px solid #888; } th.text, td.text { text-align: left; white-space: normal; }
.beyond { color: #b00020; font-weight: bold; } .held { color: #00695c; } .note { color: #555; }
.figures { display: flex; flex-wrap: wrap; gap: 1em; } .figures svg { max-width: 100%; height: auto; }
dt { font-weight: bold; } dd { margin-left: 1.5em; color: #444; overflow-wrap: anywhere; }
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Cell {
  std::string text;
  bool left = false;
  std::string mark = {};  // a class
};

std::string row_of(const std::vector<Cell>& cells, const char* tag = "td") {
  std::string out = "<tr>";
  for (const Cell& cell : cells) {
    std::string classes = cell.left ? "text" : "";
    if (!cell.mark.empty()) classes += (classes.empty() ? "" : " ") + cell.mark;
    out += classes.empty() ? fmt::format("<{}>", tag) : fmt::format("<{} class=\"{}\">", tag, classes);
    out += fmt::format("{}</{}>", escaped(cell.text), tag);
  }
  return out + "</tr>\n";
}

class Page {
 public:
  Page(const Validation& validation, const ValidationResult& result) : validation_(validation), result_(result) {}

  std::string text(const std::string& version) {
    const std::string title = escaped(validation_.description);
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
        "<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
        title, style, title);
    out_ += fmt::format(
        "<p class=\"note\">moire validate {}, Moire {}. An error is simulated / measured - 1, or the "
        "difference in points of percent. Mean, median, 95th percentile and worst are of errors "
        "without their signs, the bias is the mean with signs.</p>\n",
        escaped(validation_.name), escaped(version));
    verdict();
    summaries();
    figures(overall_figures(result_));
    for (const GroupResult& group : result_.groups) section(group);
    origins();
    return out_ + "</body>\n</html>\n";
  }

 private:
  void verdict() {
    const std::string beyond = beyond_limits(result_);
    const bool limited = std::any_of(result_.groups.begin(), result_.groups.end(),
                                     [](const GroupResult& group) { return !group.limits.empty(); });
    if (!beyond.empty()) {
      out_ += "<ul>\n";
      for (std::size_t begin = 0; begin < beyond.size();) {
        const std::size_t end = beyond.find('\n', begin);
        out_ += "<li class=\"beyond\">" + escaped(beyond.substr(begin, end - begin)) + "</li>\n";
        begin = end + 1;
      }
      out_ += "</ul>\n";
    } else {
      out_ += limited ? "<p class=\"held\">All limits are held.</p>\n" : "<p>No limits are declared.</p>\n";
    }
    if (result_.unused_expected > 0)
      out_ +=
          fmt::format("<p class=\"note\">{} of the values expected have no case here.</p>\n", result_.unused_expected);
  }

  static std::vector<Cell> summary_cells(const std::string& name, const Summary& summary, const std::string& unit) {
    std::vector<Cell> cells = {{name, true}, {fmt::format("{}", summary.cases)}};
    if (summary.cases == 0) {
      cells.resize(7);
      return cells;
    }
    for (const double size : {summary.mean, summary.median, summary.percentile_95, summary.worst})
      cells.push_back({size_text(size, unit)});
    cells.push_back({error_text(summary.bias, unit)});
    return cells;
  }

  void summaries() {
    out_ += "<table>\n";
    out_ += row_of(
        {{"errors", true}, {"cases"}, {"mean"}, {"median"}, {"95th percentile"}, {"worst"}, {"bias"}, {"limits", true}},
        "th");
    for (const GroupResult& group : result_.groups) {
      std::vector<Cell> cells = summary_cells(group.name, group.summary, group.error_unit);
      std::vector<std::string> limits;
      bool held = true;
      for (const Limit& limit : group.limits) {
        held = held && limit.held();
        if (limit.on != "curve" || !limit.held()) limits.push_back(limit_text(limit, group));
      }
      cells.push_back({config::join(limits, "; "), true, group.limits.empty() ? "" : held ? "held" : "beyond"});
      out_ += row_of(cells);
      if (group.expected_summary.cases > 0)
        out_ += row_of(summary_cells(group.name + ", as expected", group.expected_summary, group.error_unit));
    }
    if (result_.overall.cases > 0) out_ += row_of(summary_cells("all", result_.overall, "%"));
    out_ += "</table>\n";
  }

  void figures(const std::vector<report::Figure>& figures) {
    if (figures.empty()) return;
    out_ += "<div class=\"figures\">\n";
    for (const report::Figure& figure : figures) out_ += report::svg(figure, fmt::format("figure_{}", ++figures_));
    out_ += "</div>\n";
  }

  void section(const GroupResult& group) {
    out_ +=
        fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n", escaped(group_title(group)), escaped(count_text(group)));
    figures(figures_of(group));
    curves(group);
    metrics(group);
    cases(group);
  }

  void curves(const GroupResult& group) {
    if (group.curves.empty()) return;
    out_ += "<table>\n" + row_of({{"curve", true}, {"points"}, {"mean error"}, {"worst"}, {"at", true}}, "th");
    for (const Curve& curve : group.curves) {
      out_ += row_of({{curve.name, true},
                      {fmt::format("{}", curve.summary.cases)},
                      {size_text(curve.summary.mean, group.error_unit)},
                      {size_text(curve.summary.worst, group.error_unit)},
                      {worst_text(curve), true}});
    }
    out_ += "</table>\n";
  }

  void metrics(const GroupResult& group) {
    if (group.metrics.empty()) return;
    out_ += "<table>\n" + row_of({{"metric", true}, {"value"}, {"unit", true}}, "th");
    for (const study::Metric& metric : group.metrics)
      out_ +=
          row_of({{metric.name, true}, {value_text(metric.value)}, {std::string(study::unit_of(metric.name)), true}});
    out_ += "</table>\n";
  }

  void cases(const GroupResult& group) {
    if (group.cases.empty()) return;
    const auto number = [](const std::optional<double>& value) { return Cell{value ? value_text(*value) : ""}; };
    const auto error = [&group](const std::optional<double>& value) {
      return Cell{value ? error_text(*value, group.error_unit) : ""};
    };
    const auto with_expected = [](const Case& one) { return one.expected.has_value(); };
    const bool expected = std::any_of(group.cases.begin(), group.cases.end(), with_expected);
    std::optional<double> most;
    for (const Limit& limit : group.limits)
      if (limit.on == "case") most = limit.most;
    std::vector<Cell> heads = {{"case", true}, {"metric", true}, {"measured"}, {"low"}, {"high"}};
    if (expected) heads.push_back({"expected"});
    heads.insert(heads.end(), {{"simulated"}, {"unit", true}});
    if (expected) heads.push_back({"expected error"});
    heads.push_back({"error"});
    out_ += "<table>\n" + row_of(heads, "th");
    for (const Case& one : group.cases) {
      std::vector<Cell> cells = {
          {one.name, true}, {one.metric, true}, number(one.measured), number(one.low), number(one.high)};
      if (expected) cells.push_back(number(one.expected));
      cells.insert(cells.end(), {number(one.simulated), {one.unit, true}});
      if (expected) cells.push_back(error(one.expected_error()));
      Cell last = error(one.error());
      if (most && one.error() && std::abs(*one.error()) > *most) last.mark = "beyond";
      cells.push_back(std::move(last));
      out_ += row_of(cells);
    }
    out_ += "</table>\n";
  }

  // Each file once, however many groups read it.
  void origins() {
    out_ += "<h2>Where the measured values come from</h2>\n<dl>\n";
    std::vector<std::string> told;
    for (const GroupResult& group : result_.groups) {
      for (const Origin& origin : group.origins) {
        const std::string name = origin.file.empty() ? group.name : origin.file;
        if (std::find(told.begin(), told.end(), name) != told.end()) continue;
        told.push_back(name);
        out_ += "<dt>" + escaped(name) + "</dt>\n";
        for (const auto& [key, value] : origin.about)
          out_ += fmt::format("<dd>{}{}{}</dd>\n", escaped(key), value.empty() ? "" : ": ", escaped(value));
      }
    }
    out_ += "</dl>\n";
    if (!validation_.expected_file.empty())
      out_ += fmt::format("<p>Expected values: {}</p>\n", escaped(validation_.expected_file));
  }

  const Validation& validation_;
  const ValidationResult& result_;
  std::string out_;
  std::size_t figures_ = 0;
};

}  // namespace

std::string report_html(const Validation& validation, const ValidationResult& result, const std::string& version) {
  return Page(validation, result).text(version);
}

}  // namespace moire::validate
