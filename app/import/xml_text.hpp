// XML whose every element and attribute knows its line: pugixml, with places for errors.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::importing {

class XmlText {
 public:
  static constexpr std::size_t most_bytes = 16 << 20;
  static constexpr int most_levels = 64;

  // Nothing where it is no XML. Entities of its own and external ones are never read.
  static std::optional<XmlText> read(const std::string& name, std::string text, config::Diagnostics& diagnostics);

  pugi::xml_node root() const { return document_->document_element(); }
  config::Place place(const pugi::xml_node& element) const;
  config::Place place(const pugi::xml_node& element, std::string_view attribute) const;

 private:
  XmlText() = default;
  config::Place place_at(std::size_t offset) const;
  bool too_deep(config::Diagnostics& diagnostics) const;

  std::shared_ptr<const config::Source> source_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
  std::unique_ptr<pugi::xml_document> document_;
};

}  // namespace moire::importing
