// libFuzzer: reads any bytes as XML. The line and column of every element and attribute must be those of its name in
// the text. A refused text must have an error message.
#include <cstdlib>
#include <string>

#include "sim/formats/xml.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

class Checker {
 public:
  Checker(const formats::XmlText& xml, const std::string& text) : xml_(xml), lines_(1) {
    for (const char c : text) {
      if (c == '\n') {
        lines_.emplace_back();
      } else {
        lines_.back() += c;
      }
    }
  }

  void check(const pugi::xml_node& node) const {
    if (node.type() == pugi::node_element) {
      require(at(xml_.position(node)).starts_with(std::string("<") + node.name()));
      for (const pugi::xml_attribute& attribute : node.attributes())
        require(at(xml_.position(attribute)).starts_with(attribute.name()));
    } else {
      at(xml_.position(node));
    }
    for (const pugi::xml_node& child : node.children()) check(child);
  }

 private:
  std::string at(formats::Position position) const {
    require(position.line >= 1 && position.line <= lines_.size());
    const std::string& line = lines_[position.line - 1];
    require(position.col >= 1 && position.col <= line.size() + 1);
    return line.substr(position.col - 1);
  }

  const formats::XmlText& xml_;
  std::vector<std::string> lines_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  formats::Complaints complaints("input.xml", diagnostics);
  const formats::XmlText xml("input.xml", text, complaints, "write <a/>");
  require(xml.ok() == diagnostics.ok());
  require(diagnostics.size() <= 1);
  if (xml.ok()) Checker(xml, text).check(xml.root());
  return 0;
}
