// An input text and the positions of its bytes. All readers of XML, JSON and CSV build on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/place.hpp"

namespace moire::formats {

// Line and column from 1, columns in bytes; line 0 means the text as a whole.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t col = 0;
};

class SourceText {
 public:
  // `name` is the text's name in messages, usually its path. The text may have at most 4 GiB.
  SourceText(const std::string& name, std::string text);
  SourceText(const SourceText&) = delete;  // parsers keep pointers into the text
  SourceText& operator=(const SourceText&) = delete;

  const std::string& text() const { return text_; }
  char* data() { return text_.data(); }  // for parsers that modify the text in place, such as pugixml
  const std::shared_ptr<const config::Source>& source() const { return source_; }

  Position position(std::size_t offset) const;  // fast if offsets are queried in ascending order
  Position position(const char* at) const { return position(static_cast<std::size_t>(at - text_.data())); }
  config::Place place(Position at) const;

 private:
  std::shared_ptr<const config::Source> source_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
  mutable std::size_t last_line_ = 0;
};

// Makes the source that messages refer to. It is null if the name is empty; errors then have no place.
std::shared_ptr<const config::Source> source_named(const std::string& name);

}  // namespace moire::formats
