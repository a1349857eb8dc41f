#include "app/import/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::importing {

namespace {

constexpr std::string_view space = " \t\r\n";

// Where `attribute` of the element whose name starts at `at` is written; npos where it is not.
std::size_t find_attribute(std::string_view text, std::size_t at, std::string_view attribute) {
  at = text.find_first_of(" \t\r\n/>", at);
  while (at != std::string_view::npos) {
    at = text.find_first_not_of(space, at);
    if (at == std::string_view::npos || text[at] == '>' || text[at] == '/') return std::string_view::npos;
    const std::size_t name = at;
    at = text.find_first_of(" \t\r\n=>", at);
    if (at == std::string_view::npos) return at;
    if (text.substr(name, at - name) == attribute) return name;
    const std::size_t quote = text.find_first_of("\"'>", at);
    if (quote == std::string_view::npos || text[quote] == '>') return std::string_view::npos;
    at = text.find(text[quote], quote + 1);
    if (at != std::string_view::npos) ++at;
  }
  return at;
}

}  // namespace

std::optional<XmlText> XmlText::read(const std::string& name, std::string text, config::Diagnostics& diagnostics) {
  XmlText xml;
  xml.source_ = std::make_shared<const config::Source>(config::Source{name, {}, true, {}});
  xml.text_ = std::move(text);
  xml.line_starts_.push_back(0);
  for (std::size_t i = 0; i < xml.text_.size(); ++i) {
    if (xml.text_[i] == '\n') xml.line_starts_.push_back(i + 1);
  }
  if (const std::size_t zero = xml.text_.find('\0'); zero != std::string::npos) {
    diagnostics.error(xml.place_at(zero), "a zero byte: this is no text", "give the file as it was written");
    return std::nullopt;
  }
  xml.document_ = std::make_unique<pugi::xml_document>();
  const pugi::xml_parse_result result =
      xml.document_->load_buffer(xml.text_.data(), xml.text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    const auto at = std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0)), xml.text_.size());
    diagnostics.error(xml.place_at(at), fmt::format("not well-formed XML: {}", result.description()),
                      "give the file as it was written");
    return std::nullopt;
  }
  if (xml.too_deep(diagnostics)) return std::nullopt;
  return xml;
}

bool XmlText::too_deep(config::Diagnostics& diagnostics) const {
  int level = 0;
  for (pugi::xml_node node = document_->first_child(); node;) {
    if (level > most_levels) {
      diagnostics.error(place(node), fmt::format("elements are nested deeper than {} levels", most_levels),
                        "no machine's tree is as deep");
      return true;
    }
    if (node.first_child()) {
      node = node.first_child();
      ++level;
      continue;
    }
    while (node && !node.next_sibling()) {
      node = node.parent();
      --level;
    }
    node = node.next_sibling();
  }
  return false;
}

config::Place XmlText::place_at(std::size_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = after - line_starts_.begin();
  return {source_, static_cast<int>(line), static_cast<int>(offset - *(after - 1) + 1)};
}

config::Place XmlText::place(const pugi::xml_node& element) const {
  const std::ptrdiff_t offset = element.offset_debug();
  if (offset < 0) return {source_, 1, 1};
  const auto at = static_cast<std::size_t>(offset);
  return place_at(element.type() == pugi::node_element && at > 0 ? at - 1 : at);  // from its '<'
}

config::Place XmlText::place(const pugi::xml_node& element, std::string_view attribute) const {
  const std::ptrdiff_t offset = element.offset_debug();
  if (offset < 0) return {source_, 1, 1};
  const std::size_t at = find_attribute(text_, static_cast<std::size_t>(offset), attribute);
  return at == std::string_view::npos ? place(element) : place_at(at);
}

}  // namespace moire::importing
