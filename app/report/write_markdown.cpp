// Writes GitHub Flavored Markdown for pull requests and wikis.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "app/report/formats.hpp"

namespace moire::report {

namespace {

bool is_word(char c) { return c == '_' || (c & 0x80) != 0 || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Escapes markup, so that the text reads as it is. An underscore inside a word is not markup.
std::string inline_text(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool at_edge = i == 0 || i + 1 == text.size() || !is_word(text[i - 1]) || !is_word(text[i + 1]);
    const bool markup = std::string_view("\\`*<[|").find(text[i]) != std::string_view::npos;
    if (markup || (text[i] == '_' && at_edge)) out += '\\';
    out += text[i];
  }
  return out;
}

// Escapes markup as inline_text() does, and also a first character that would start a heading, a list or a quotation.
std::string escaped(const std::string& text) {
  const bool starts_block = !text.empty() && std::string_view("#+->=~").find(text.front()) != std::string_view::npos;
  return (starts_block ? "\\" : "") + inline_text(text);
}

// Writes the parts of a document as blocks of Markdown. An empty line separates two blocks.
struct Markdown {
  std::string out;

  void block(const std::string& text) {
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
  }
  void lines(const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += "- " + escaped(item) + "\n";
    block(text);
  }
  void operator()(const Field&) {}
  void operator()(const Figures&) {}
  void operator()(const List& list) { lines(list.items); }
  void operator()(const Note& note) {
    if (note.text.find('\n') == std::string::npos) return block(escaped(note.text) + "\n");
    std::string code = "    ";
    for (const char c : note.text) code += c == '\n' ? std::string("\n    ") : std::string(1, c);
    block(code.erase(code.find_last_not_of(" \n") + 1) + "\n");
  }
  void operator()(const Terms& terms) {
    for (const auto& [word, said] : terms.terms) {
      block("**" + inline_text(word) + "**\n");
      lines(said);
    }
  }
  void operator()(const Table& table) {
    std::vector<std::size_t> read;
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if ((table.columns[c].readers & in::text) != 0) read.push_back(c);
    std::string head = "|";
    std::string alignment = "|";
    for (const std::size_t c : read) {
      head += " " + (table.headings ? inline_text(table.columns[c].heading) : "") + " |";
      alignment += table.columns[c].align == Align::left ? " --- |" : " ---: |";
    }
    std::string text = head + "\n" + alignment + "\n";
    for (const auto& row : table.rows) {
      text += "|";
      for (const std::size_t c : read)
        text +=
            " " + inline_text(c < row.size() && !row[c].missing() ? shown(row[c]) : table.columns[c].missing) + " |";
      text += "\n";
    }
    block(text);
    for (const std::string& note : table.footnotes) block(escaped(note) + "\n");
  }
  void operator()(const Section& section) {
    if (!section.heading.empty()) block("## " + escaped(section.heading) + "\n");
    if (!section.about.empty()) block(escaped(section.about) + "\n");
    write_parts(section, in::text, *this);
  }
};

}  // namespace

std::string write_markdown(const Document& document) {
  Markdown markdown;
  if (document.title) markdown.block("# " + escaped(*document.title) + "\n");
  write_parts(document, in::text, markdown);
  return markdown.out;
}

}  // namespace moire::report
