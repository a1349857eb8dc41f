#include "app/report/values.hpp"

#include "sim/formats/number.hpp"

namespace moire::report {

namespace {

Cell value_of_scalar(const config::Node& node) {
  if (node.quoted) return node.text;
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  return value_of(node.text);
}

}  // namespace

Cell value_of(const std::string& text) {
  if (const auto whole = formats::number_in<std::int64_t>(text)) return *whole;
  if (const auto real = formats::number_in<double>(text); real) return *real;
  return text;
}

Cell count_or_text(const std::string& text) {
  const auto whole = formats::number_in<std::int64_t>(text);
  return whole && std::to_string(*whole) == text ? Cell(*whole) : Cell(text);
}

Cell value_of(const config::Node& node) {
  if (node.top && node.place.source) return node.place.source->name;
  switch (node.kind) {
    case config::Node::Kind::null:
      return nullptr;
    case config::Node::Kind::scalar:
      return value_of_scalar(node);
    case config::Node::Kind::sequence: {
      Cell::List list;
      for (const config::Node& item : node.items) list.push_back(value_of(item));
      return list;
    }
    case config::Node::Kind::map: {
      Cell::Record record;
      for (const auto& entry : node.entries) record.push_back({entry.key, value_of(entry.value)});
      return record;
    }
  }
  return {};
}

}  // namespace moire::report
