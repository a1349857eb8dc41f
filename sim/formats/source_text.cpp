#include "sim/formats/source_text.hpp"

#include <algorithm>

namespace moire::formats {

std::shared_ptr<const config::Source> source_named(const std::string& name) {
  if (name.empty()) return nullptr;
  return std::make_shared<const config::Source>(
      config::Source{name, std::filesystem::path(name).parent_path(), true, {}});
}

SourceText::SourceText(const std::string& name, std::string text)
    : source_(source_named(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t i = text_.find('\n'); i != std::string::npos; i = text_.find('\n', i + 1)) {
    line_starts_.push_back(static_cast<std::uint32_t>(i) + 1);
  }
}

Position SourceText::position(std::size_t offset) const {
  const auto starts_behind = [&](std::size_t line) {
    return line + 1 >= line_starts_.size() || line_starts_[line + 1] > offset;
  };
  std::size_t line = last_line_;
  if (line_starts_[line] > offset) line = 0;
  for (int near = 0; near < 3 && !starts_behind(line); ++near) ++line;
  if (!starts_behind(line)) {
    line = static_cast<std::size_t>(std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) -
                                    line_starts_.begin()) -
           1;
  }
  last_line_ = line;
  return {static_cast<std::uint32_t>(line) + 1, static_cast<std::uint32_t>(offset - line_starts_[line]) + 1};
}

config::Place SourceText::place(Position at) const {
  return {source_, static_cast<int>(at.line), static_cast<int>(at.col)};
}

}  // namespace moire::formats
