#include "sim/formats/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "sim/formats/source_text.hpp"

namespace moire::formats {

namespace {

using nlohmann::json;

// An iterator over a text. It counts the characters that the parser has consumed.
struct Counted {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  std::size_t* taken = nullptr;

  reference operator*() const { return *at; }
  Counted& operator++() {
    ++at;
    ++*taken;
    return *this;
  }
  Counted operator++(int) {
    Counted before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Counted& a, const Counted& b) { return a.at == b.at; }
  friend bool operator!=(const Counted& a, const Counted& b) { return a.at != b.at; }
};

class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(const SourceText& text, const std::size_t& taken, std::size_t most_keys, JsonText& out,
          config::Diagnostics& diagnostics)
      : text_(text), taken_(taken), most_keys_(most_keys), out_(out), diagnostics_(diagnostics) {}

  bool null() override { return add(JsonValue::Kind::null) != nullptr; }
  bool boolean(bool value) override {
    JsonValue* added = add(JsonValue::Kind::boolean);
    if (added) added->flag = value;
    return added != nullptr;
  }
  bool number_integer(number_integer_t value) override {
    JsonValue* added = add(JsonValue::Kind::integer);
    if (!added) return false;
    added->negative = value < 0;
    added->number = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    JsonValue* added = add(JsonValue::Kind::integer);
    if (added) added->number = value;
    return added != nullptr;
  }
  bool number_float(number_float_t, const string_t& digits) override {
    JsonValue* added = add(JsonValue::Kind::real);
    if (added) added->text = digits;
    return added != nullptr;
  }
  bool string(string_t& value) override {
    JsonValue* added = add(JsonValue::Kind::text);
    if (added) added->text = std::move(value);
    return added != nullptr;
  }
  bool binary(binary_t&) override { return false; }  // binary values do not occur in JSON text
  bool start_object(std::size_t) override { return open(JsonValue::Kind::map); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const std::size_t at = start();
    if (!keys_.back().insert(name).second) {
      diagnostics_.error(place(at), fmt::format("the key {} appears twice", config::in_quotes(name)), "keep one");
      return false;
    }
    if (open_.back()->entries.size() == most_keys_) {
      diagnostics_.error(place(at), fmt::format("the map has more than {} keys", most_keys_),
                         "no file of this kind has so many");
      return false;
    }
    key_ = std::move(name);
    end_ = taken_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    std::string what = error.what();
    if (const std::size_t colon = what.find(": "); colon != std::string::npos) what = what.substr(colon + 2);
    std::string shown;
    for (const char c : what.substr(0, 160)) shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    diagnostics_.error(place(position > 0 ? position - 1 : 0), "not JSON: " + shown, "give the file as it was written");
    return false;
  }

 private:
  // Returns the start of the current token: the first character after the previous token that is neither a space nor a
  // separator.
  std::size_t start() const {
    const std::size_t at = text_.text().find_first_not_of(" \t\r\n,:", end_);
    return std::min(at, text_.text().size());
  }

  config::Place place(std::size_t at) const { return text_.place(text_.position(at)); }

  JsonValue* add(JsonValue::Kind kind) {
    const std::size_t at = start();
    if (++values_ > most_json_values) {
      diagnostics_.error(place(at), fmt::format("the file has more than {} values", most_json_values),
                         "no file of this kind is that large");
      return nullptr;
    }
    JsonValue* added = &out_.root;
    if (!open_.empty()) {
      JsonValue& parent = *open_.back();
      if (parent.kind == JsonValue::Kind::map) {
        parent.entries.push_back({std::move(key_), {}});
        added = &parent.entries.back().value;
      } else {
        added = &parent.items.emplace_back();
      }
    }
    added->kind = kind;
    const config::Place where = place(at);
    added->line = where.line;
    added->col = where.col;
    end_ = taken_;
    return added;
  }

  bool open(JsonValue::Kind kind) {
    JsonValue* added = add(kind);
    if (!added) return false;
    if (open_.size() == most_json_levels) {
      diagnostics_.error({out_.source, added->line, added->col},
                         fmt::format("values are nested deeper than {} levels", most_json_levels),
                         "no file of this kind is that deep");
      return false;
    }
    open_.push_back(added);
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    end_ = taken_;
    return true;
  }

  const SourceText& text_;
  const std::size_t& taken_;
  std::size_t most_keys_;
  JsonText& out_;
  config::Diagnostics& diagnostics_;
  // Unfinished maps and lists, the outermost first. Only the last of them grows, so pointers to them stay valid.
  std::vector<JsonValue*> open_;
  std::vector<std::unordered_set<std::string>> keys_;  // the keys so far of each value in open_
  std::string key_;
  std::size_t end_ = 0;  // end of the last token, or one character after this end
  std::size_t values_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string found(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return value.flag ? "true" : "false";
    case JsonValue::Kind::integer:
      return fmt::format("{}{}", value.negative ? "-" : "", value.number);
    case JsonValue::Kind::real:
      return config::in_quotes(value.text);
    case JsonValue::Kind::text:
      return config::in_quotes(value.text);
    case JsonValue::Kind::list:
      return "a list";
    case JsonValue::Kind::map:
      return "a map";
  }
  return {};
}

std::optional<JsonText> read_json(const std::string& name, const std::string& text, config::Diagnostics& diagnostics,
                                  std::size_t most_keys) {
  const SourceText source(name, text);
  JsonText out{source.source(), {}};
  std::size_t taken = 0;
  Builder builder(source, taken, most_keys, out, diagnostics);
  const std::string& all = source.text();
  if (!json::sax_parse(Counted{all.data(), &taken}, Counted{all.data() + all.size(), &taken}, &builder))
    return std::nullopt;
  return out;
}

}  // namespace moire::formats
