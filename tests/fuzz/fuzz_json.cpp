// libFuzzer: reads any bytes as JSON. At the line and column of every value there must be a character with which a
// value of its kind can begin. A refused text must have an error message.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "sim/formats/json.hpp"
#include "sim/formats/source_text.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const formats::JsonValue& value, const std::vector<std::string>& lines) {
  require(value.line >= 1 && static_cast<std::size_t>(value.line) <= lines.size());
  const std::string& line = lines[static_cast<std::size_t>(value.line) - 1];
  require(value.col >= 1 && static_cast<std::size_t>(value.col) <= line.size());
  using Kind = formats::JsonValue::Kind;
  const std::string starts = value.kind == Kind::map       ? "{"
                             : value.kind == Kind::list    ? "["
                             : value.kind == Kind::text    ? "\""
                             : value.kind == Kind::null    ? "n"
                             : value.kind == Kind::boolean ? "tf"
                                                           : "-0123456789";
  require(starts.find(line[static_cast<std::size_t>(value.col) - 1]) != std::string::npos);
  for (const formats::JsonValue& item : value.items) check(item, lines);
  for (const auto& [key, item] : value.entries) check(item, lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  const auto json = formats::read_json("input.json", text, diagnostics);
  require(json.has_value() == diagnostics.ok());
  require(diagnostics.size() <= 1);
  if (!json) return 0;
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  if (!text.starts_with("\xef\xbb\xbf")) check(json->root, lines);
  return 0;
}
