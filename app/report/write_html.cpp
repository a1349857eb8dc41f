// Writes a self-contained HTML page: its styles and figures are inside the file.
#include <fmt/format.h>

#include "app/report/formats.hpp"
#include "sim/formats/markup.hpp"

namespace moire::report {

namespace {

using formats::escaped;

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

std::string class_of(Mark mark) {
  switch (mark) {
    case Mark::none:
      return "";
    case Mark::note:
      return "note";
    case Mark::held:
      return "held";
    case Mark::beyond:
      return "beyond";
  }
  return "";
}

std::string element(const std::string& tag, const std::string& classes, const std::string& text) {
  return fmt::format("<{}{}>{}</{}>", tag, classes.empty() ? "" : fmt::format(" class=\"{}\"", classes), escaped(text),
                     tag);
}

std::string cell_of(const std::string& tag, const Column& column, const std::string& text, Mark mark) {
  std::string classes = column.align == Align::left ? "text" : "";
  if (mark != Mark::none) classes += (classes.empty() ? "" : " ") + class_of(mark);
  return element(tag, classes, text);
}

struct Page {
  std::string out;
  std::size_t figures = 0;

  void operator()(const Field&) {}
  void operator()(const Note& note) {
    const bool lines = note.text.find('\n') != std::string::npos;
    out += element(lines ? "pre" : "p", class_of(note.mark), note.text) + "\n";
  }
  void operator()(const List& list) {
    out += "<ul>\n";
    for (const std::string& item : list.items) out += element("li", class_of(list.mark), item) + "\n";
    out += "</ul>\n";
  }
  void operator()(const Terms& terms) {
    out += "<dl>\n";
    for (const auto& [word, said] : terms.terms) {
      out += element("dt", "", word) + "\n";
      for (const std::string& line : said) out += element("dd", "", line) + "\n";
    }
    out += "</dl>\n";
  }
  void operator()(const Table& table) {
    const auto read = [&table](std::size_t c) { return (table.columns[c].readers & in::page) != 0; };
    out += "<table>\n";
    if (table.headings) {
      out += "<tr>";
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        if (read(c)) out += cell_of("th", table.columns[c], table.columns[c].heading, Mark::none);
      out += "</tr>\n";
    }
    for (const auto& row : table.rows) {
      out += "<tr>";
      for (std::size_t c = 0; c < row.size(); ++c)
        if (read(c))
          out +=
              cell_of("td", table.columns[c], row[c].missing() ? table.columns[c].missing : shown(row[c]), row[c].mark);
      out += "</tr>\n";
    }
    out += "</table>\n";
    for (const std::string& note : table.footnotes) out += element("p", "note", note) + "\n";
  }
  void operator()(const Figures& all) {
    if (all.figures.empty()) return;
    out += "<div class=\"figures\">\n";
    for (const Figure& figure : all.figures) out += svg(figure, fmt::format("figure_{}", ++figures));
    out += "</div>\n";
  }
  void operator()(const Section& section) {
    if (!section.heading.empty()) out += element("h2", "", section.heading) + "\n";
    if (!section.about.empty()) out += element("p", "note", section.about) + "\n";
    write_parts(section, in::page, *this);
  }
};

}  // namespace

std::string write_html(const Document& document) {
  const std::string title = escaped(document.title.value_or("Moire"));
  Page page;
  write_parts(document, in::page, page);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n{}</body>\n</html>\n",
      title, style, title, page.out);
}

}  // namespace moire::report
