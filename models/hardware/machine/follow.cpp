#include "models/hardware/machine/follow.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "models/hardware/machine/parts.hpp"
#include "sim/config/units.hpp"

namespace moire::machine {

namespace {

using config::Node;

const Node* at(const Node& from, std::string_view path) {
  const Node* node = &from;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

// Returns the node of the value in a map such as {value: 4.8 TB/s, source: datasheet}. If `node` is no such map,
// returns `node`.
const Node* value_in(const Node* node) {
  const Node* value = node != nullptr && node->is_map() ? node->find("value") : nullptr;
  return value != nullptr ? value : node;
}

bool any_override(const Node& node) {
  const auto in_entry = [](const Node::Entry& entry) { return any_override(entry.value); };
  return node.override_text || std::any_of(node.items.begin(), node.items.end(), any_override) ||
         std::any_of(node.entries.begin(), node.entries.end(), in_entry);
}

// The number of a value and its unit's dimension.
struct Quantity {
  double number = 0;
  config::Dimension dimension = config::Dimension::ratio;
};

std::optional<Quantity> quantity_in(const Node* node) {
  const Node* value = value_in(node);
  if (value == nullptr || !value->is_scalar()) return std::nullopt;
  using config::Dimension;
  for (const Dimension dimension : {Dimension::ratio, Dimension::per_second, Dimension::bytes_per_second,
                                    Dimension::flop_per_second, Dimension::bytes, Dimension::time}) {
    double number = 0;
    if (!config::parse_quantity(value->text, dimension, number)) return Quantity{number, dimension};
  }
  return std::nullopt;
}

std::optional<double> number_in(const Node* node) {
  const auto quantity = quantity_in(node);
  return quantity ? std::optional(quantity->number) : std::nullopt;
}

// Returns the number of CUs in all groups of `groups` (cus = true), or the number of groups (cus = false).
std::optional<double> counted(const Node* groups, bool cus) {
  if (groups == nullptr || !groups->is_sequence()) return std::nullopt;
  double sum = 0;
  for (const Node& group : groups->items) {
    const Node* count = group.find("count");
    const auto of_one = cus ? number_in(group.find("cus")) : std::optional(1.0);
    const auto groups_alike = count == nullptr ? std::optional(1.0) : number_in(count);
    if (!of_one || !groups_alike) return std::nullopt;
    sum += *of_one * *groups_alike;
  }
  return sum;
}

bool is_count_of_cus(std::string_view of) { return of == "gpu.compute.cus" || of == "gpu.compute.group_count"; }

// Returns the node of the value that others follow.
const Node* driver_node(const Node& node, std::string_view of) {
  return value_in(at(node, is_count_of_cus(of) ? "gpu.compute.groups" : of));
}

std::optional<Quantity> driver(const Node& node, std::string_view of) {
  if (!is_count_of_cus(of)) return quantity_in(driver_node(node, of));
  const auto count = counted(driver_node(node, of), of == "gpu.compute.cus");
  return count ? std::optional(Quantity{*count}) : std::nullopt;
}

bool is_true(const Node& node, std::string_view flag) {
  const Node* value = value_in(at(node, flag));
  return value != nullptr && value->is_scalar() && value->text == "true";
}

struct Written {
  double number = 0;
  std::string unit;  // including the space before it
};

Written split(const std::string& text) {
  Written written;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), written.number);
  written.unit = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  return written;
}

// Returns a quantity, such as "989.4 TFLOP/s", multiplied by a factor. An integer without a unit counts links or
// channels, so it is rounded down, but to at least 1. 0 stays 0.
std::string scaled(const std::string& text, double factor) {
  const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
  const Written written = split(text);
  if (whole && written.number == 0) return text;
  if (whole)
    return fmt::format("{}", std::max(std::int64_t{1}, static_cast<std::int64_t>(written.number * factor + 1e-9)));
  return fmt::format("{}{}", written.number * factor, written.unit);
}

std::string shown(const std::string& text) {
  const Written written = split(text);
  return fmt::format("{:.4g}{}", written.number, written.unit);
}

// Repeats or cuts the list of the numbers of CUs behind each port, so that their sum is `cus`.
void resize_pattern(Node& list, std::int64_t cus) {
  const std::vector<Node> pattern = list.items;
  list.items.clear();
  for (std::size_t i = 0; cus > 0 && !pattern.empty(); ++i) {
    Node item = pattern[i % pattern.size()];
    const auto here = static_cast<std::int64_t>(number_in(&item).value_or(1));
    item.text = std::to_string(std::clamp<std::int64_t>(here, 1, cus));
    cus -= std::clamp<std::int64_t>(here, 1, cus);
    list.items.push_back(std::move(item));
  }
}

// Returns the path of a key within the GPU file, without the prefix "gpu.".
std::string_view last_words(std::string_view of) { return of.starts_with("gpu.") ? of.substr(4) : of; }

}  // namespace

std::vector<part::Follow> follows() {
  std::vector<part::Follow> all;
  for (const RegisteredPart& part : parts()) {
    const auto& own = part.declaration().follows;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Node with_what_follows(const Node& system, std::vector<std::string>& told) {
  Node out = system;
  Node* node = out.find("node");
  if (node == nullptr || !any_override(*node)) return out;
  const Node before = node->as_written();
  const Node now = *node;
  std::vector<std::string_view> done;
  const std::vector<part::Follow> rules = follows();
  for (const part::Follow& first : rules) {
    if (std::find(done.begin(), done.end(), first.key) != done.end()) continue;
    done.push_back(first.key);
    double factor = 1;
    const Node* cause = nullptr;
    std::vector<std::string_view> with;
    for (const part::Follow& rule : rules) {
      if (rule.key != first.key) continue;
      if (!rule.only_where.empty() && !is_true(now, rule.only_where)) continue;
      const auto old_value = driver(before, rule.of);
      const auto new_value = driver(now, rule.of);
      // A value without its unit is an error at its own line; what follows it stays as it is.
      if (!old_value || !new_value || old_value->dimension != new_value->dimension) continue;
      if (old_value->number <= 0 || new_value->number <= 0 || old_value->number == new_value->number) continue;
      const double ratio = new_value->number / old_value->number;
      factor *= rule.power > 0 ? ratio : 1 / ratio;
      cause = driver_node(now, rule.of);
      with.push_back(last_words(rule.of));
    }
    auto* value = const_cast<Node*>(value_in(at(*node, first.key)));
    if (with.empty() || value == nullptr || any_override(*at(now, first.key))) continue;
    const std::string was = value->text;
    const std::string text = fmt::format("with {}", fmt::join(with, ", "));
    if (value->is_sequence()) {
      resize_pattern(*value, static_cast<std::int64_t>(driver(now, first.of)->number));
    } else if (number_in(value)) {
      value->text = scaled(was, factor);
      if (value->text == was) continue;
    } else {
      continue;
    }
    value->override_text = std::make_shared<const std::string>(text);
    value->place = cause->place;  // an error of this value is mended there
    told.push_back(value->is_sequence() ? fmt::format("{} is resized {}", last_words(first.key), text)
                                        : fmt::format("{} {} instead of {}, scaled {}", last_words(first.key),
                                                      shown(value->text), shown(was), text));
  }
  return out;
}

}  // namespace moire::machine
