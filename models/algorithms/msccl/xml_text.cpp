#include "models/algorithms/msccl/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::msccl {

namespace {

constexpr std::size_t longest_text = std::size_t{1} << 30;
constexpr std::size_t most_memory = std::size_t{3} << 30;  // of the parsed text, without the text

// What pugixml needs at most.
std::size_t memory_for(std::string_view text) {
  const auto elements = static_cast<std::size_t>(std::count(text.begin(), text.end(), '<'));
  const auto attributes = static_cast<std::size_t>(std::count(text.begin(), text.end(), '='));
  return elements * 64 + attributes * 40;
}

}  // namespace

XmlText::XmlText(std::string text, Complaints& complaints) : text_(std::move(text)) {
  if (text_.size() > longest_text || memory_for(text_) > most_memory) {
    complaints.error({}, "the file is too large", "an algorithm file has at most 1 GiB and some million steps");
    return;
  }
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i) + 1);
  }
  if (const std::size_t zero = text_.find('\0'); zero != std::string::npos) {
    complaints.error(at(zero), "this is not well-formed XML: a zero byte", "a text file in UTF-8");
    return;
  }
  // In place, so that every name and value leads back to where it stands.
  const pugi::xml_parse_result result =
      document_.load_buffer_inplace(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (result.status == pugi::status_no_document_element) {
    complaints.error({1, 1}, "the file is empty: it has no XML element", "an algorithm is an element <algo>");
    return;
  }
  if (!result) {
    std::string what = result.description();
    if (!what.empty()) what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
    complaints.error(at(std::min<std::size_t>(static_cast<std::size_t>(result.offset), text_.size())),
                     "this is not well-formed XML: " + what, "is the file cut off?");
    return;
  }
  pugi::xml_node first;
  for (const pugi::xml_node node : document_.children()) {
    if (node.type() != pugi::node_element) continue;
    if (first) {
      complaints.error(spot_of(node), "a second element at the top of the file", "one <algo> holds everything");
      return;
    }
    first = node;
  }
  root_ = first;
}

Spot XmlText::at(const char* where) const { return at(static_cast<std::size_t>(where - text_.data())); }

Spot XmlText::at(std::size_t offset) const {
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

}  // namespace moire::msccl
