// XML with places: pugixml's tree, in which every element and attribute leads back to where it is written.
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

  // What is wrong goes to `complaints`, which call the text by the same name. `expected` says what the file should
  // hold, where it holds nothing: "an algorithm is an element <algo>". Entities other than the five of XML are not
  // read.
  XmlText(const std::string& name, std::string text, Complaints& complaints, const std::string& expected);

  bool ok() const { return root_; }
  pugi::xml_node root() const { return root_; }

  Position position(const pugi::xml_node& node) const;  // of an element, from its '<'
  Position position(const pugi::xml_attribute& attribute) const { return text_.position(attribute.name()); }
  // Of an attribute, or of the element where it has none of this name.
  Position position(const pugi::xml_node& element, const char* attribute) const;

 private:
  bool is_well_formed(Complaints& complaints, const std::string& expected);
  bool is_one_tree(Complaints& complaints) const;

  SourceText text_;
  pugi::xml_document document_;
  pugi::xml_node root_;
};

}  // namespace moire::formats
