// A text that came from outside, and where each of its bytes stands. Every reader of XML, JSON and CSV starts from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/place.hpp"

namespace moire::formats {

// Line and column from 1, columns in bytes; line 0 is the text as a whole.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t col = 0;
};

class SourceText {
 public:
  // `name` is what errors call it, most often its path. At most 4 GiB.
  SourceText(const std::string& name, std::string text);
  SourceText(const SourceText&) = delete;  // parsers keep pointers into it
  SourceText& operator=(const SourceText&) = delete;

  const std::string& text() const { return text_; }
  char* data() { return text_.data(); }  // of parsers that write into what they read, as pugixml
  const std::shared_ptr<const config::Source>& source() const { return source_; }

  Position position(std::size_t offset) const;  // fast where offsets are asked for from front to back
  Position position(const char* at) const { return position(static_cast<std::size_t>(at - text_.data())); }
  config::Place place(Position at) const;

 private:
  std::shared_ptr<const config::Source> source_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
  mutable std::size_t last_line_ = 0;
};

// What errors call a text; nothing where the name is empty, and then errors have no place.
std::shared_ptr<const config::Source> source_named(const std::string& name);

}  // namespace moire::formats
