#include <cmath>
#include <nlohmann/json.hpp>

#include "app/report/formats.hpp"

namespace moire::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr double exact = 9007199254740992;  // 2^53: doubles are exact for integers up to here

Json json_of(const Cell& cell);

struct Value {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::nullptr_t) const { return nullptr; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(std::int64_t whole) const { return whole; }
  Json operator()(bool truth) const { return truth; }
  Json operator()(const Number& number) const {
    const double value = number.for_programs();
    if (number.whole_where_it_is && value == std::floor(value) && std::abs(value) <= exact)
      return static_cast<std::int64_t>(value);
    return value;
  }
  Json operator()(const Cell::List& list) const {
    Json json = Json::array();
    for (const Cell& cell : list) json.push_back(json_of(cell));
    return json;
  }
  Json operator()(const Cell::Record& record) const {
    Json json = Json::object();
    for (const Field& field : record) json[field.key] = json_of(field.value);
    return json;
  }
};

Json json_of(const Cell& cell) { return std::visit(Value(), cell.value); }

struct Object {
  Json json = Json::object();

  void operator()(const auto&) {}
  void operator()(const Field& field) { json[field.key] = json_of(field.value); }
  void operator()(const Table& table) {
    if (table.key.empty()) return;
    Json& rows = json[table.key] = Json::array();
    for (std::size_t row = 0; row < table.rows.size(); ++row) rows.push_back(json_of(table.record(row)));
  }
  void operator()(const Section& section) {
    if (section.key.empty()) return;
    Object inner;
    write_parts(section, in::json, inner);
    json[section.key].push_back(std::move(inner.json));
  }
};

Json json_of(const Document& document) {
  Object object;
  write_parts(document, in::json, object);
  return std::move(object.json);
}

// Returns JSON as text. Names that come from files may contain bytes that are not UTF-8; each becomes the replacement
// character.
std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string write_json(const Document& document) { return text_of(json_of(document)); }

std::string write_json(const std::vector<Document>& documents) {
  Json all = Json::array();
  for (const Document& document : documents) all.push_back(json_of(document));
  return text_of(all);
}

}  // namespace moire::report
