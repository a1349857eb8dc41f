// Parses a text as XML. root() returns the top element of pugixml's tree, and position() returns the line and column of
// an element or attribute of this tree.
#pragma once

#include <pugixml.hpp>
#include <string>

#include "sim/formats/complaints.hpp"
#include "sim/formats/source_text.hpp"

namespace moire::formats {

class XmlText {
 public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 30;
  static constexpr int most_levels = 64;

  // Errors are reported to `complaints`, which must use the same name for the text. `expected` is the remedy if the
  // file is empty, such as "an algorithm is an element <algo>". Only the five predefined entities of XML are supported.
  XmlText(const std::string& name, std::string text, Complaints& complaints, const std::string& expected);

  bool ok() const { return root_; }
  pugi::xml_node root() const { return root_; }

  Position position(const pugi::xml_node& node) const;  // the position of an element is that of its '<'
  Position position(const pugi::xml_attribute& attribute) const { return text_.position(attribute.name()); }
  // Returns the position of an attribute, or of the element if the element has no such attribute.
  Position position(const pugi::xml_node& element, const char* attribute) const;

 private:
  bool is_well_formed(Complaints& complaints, const std::string& expected);
  bool is_one_tree(Complaints& complaints) const;

  SourceText text_;
  pugi::xml_document document_;
  pugi::xml_node root_;
};

}  // namespace moire::formats
