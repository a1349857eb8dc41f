#include "sim/formats/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace moire::formats {

namespace {

constexpr std::size_t most_memory = std::size_t{3} << 30;  // limit of pugixml's tree in bytes, without the text

// Returns an upper bound of the memory that pugixml's tree needs, in bytes: 64 for an element and 40 for an attribute.
std::size_t memory_for(std::string_view text) {
  const auto elements = static_cast<std::size_t>(std::count(text.begin(), text.end(), '<'));
  const auto attributes = static_cast<std::size_t>(std::count(text.begin(), text.end(), '='));
  return elements * 64 + attributes * 40;
}

}  // namespace

XmlText::XmlText(const std::string& name, std::string text, Complaints& complaints, const std::string& expected)
    : text_(name, std::move(text)) {
  if (is_well_formed(complaints, expected) && is_one_tree(complaints)) root_ = document_.document_element();
}

bool XmlText::is_well_formed(Complaints& complaints, const std::string& expected) {
  const std::string& text = text_.text();
  if (text.size() > most_bytes || memory_for(text) > most_memory) {
    complaints.error(Position{}, "the file is too large",
                     "Moire reads XML files of at most 1 GiB and some ten million elements");
    return false;
  }
  if (const std::size_t zero = text.find('\0'); zero != std::string::npos) {
    complaints.error(text_.position(zero), "this is not well-formed XML: a zero byte", "name a text file in UTF-8");
    return false;
  }
  // The text is parsed in place, so that pointers to names and values give their positions.
  const pugi::xml_parse_result result = document_.load_buffer_inplace(
      text_.data(), text.size(), pugi::parse_default | pugi::parse_fragment,
      pugi::encoding_utf8);  // parse_fragment, so that text outside of the top element can be reported
  if (result && !document_.document_element()) {
    complaints.error(Position{1, 1}, "the file is empty: it has no XML element", expected);
  } else if (!result) {
    std::string what = result.description();
    if (!what.empty()) what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0));
    complaints.error(text_.position(std::min(offset, text.size())), "this is not well-formed XML: " + what,
                     "is the file cut off?");
  }
  return result && document_.document_element();
}

bool XmlText::is_one_tree(Complaints& complaints) const {
  const pugi::xml_node root = document_.document_element();
  for (const pugi::xml_node node : document_.children()) {
    if (node == root) continue;
    const bool is_text = node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
    if (!is_text && node.type() != pugi::node_element) continue;
    complaints.error(is_text ? text_.position(node.value() + std::strspn(node.value(), " \t\r\n")) : position(node),
                     is_text ? "there is text outside of the top element" : "there is a second top element",
                     fmt::format("put everything into one <{}>", std::string(root.name()).substr(0, 60)));
    return false;
  }
  int level = 0;
  for (pugi::xml_node node = root; node;) {
    if (level > most_levels) {
      complaints.error(position(node), fmt::format("elements are nested deeper than {} levels", most_levels),
                       "no file of this kind is that deep");
      return false;
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
  return true;
}

Position XmlText::position(const pugi::xml_node& node) const {
  if (node.type() == pugi::node_element) return text_.position(node.name() - 1);
  if (node.value()[0] != '\0') return text_.position(node.value());
  return node.parent().type() == pugi::node_element ? position(node.parent()) : Position{1, 1};
}

Position XmlText::position(const pugi::xml_node& element, const char* attribute) const {
  const pugi::xml_attribute found = element.attribute(attribute);
  return found ? position(found) : position(element);
}

}  // namespace moire::formats
