#include "app/evidence/calibrate/hardware_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "app/evidence/calibrate/file_nodes.hpp"
#include "sim/core/invariant.hpp"

namespace moire::calibrate {

namespace {

using config::Node;

std::pair<std::string, std::string> section_and_key(std::string_view path) {
  const std::size_t dot = path.find('.');
  MOIRE_INVARIANT(dot != std::string_view::npos, "a parameter is section.key: " + std::string(path));
  return {std::string(path.substr(0, dot)), std::string(path.substr(dot + 1))};
}

const config::Description* section_of(const std::string& section) {
  const config::Field* field = config::description<machine::GpuSpec>().find(section);
  if (!field || !field->type.shape.spec) return nullptr;
  return &field->type.shape.spec();
}

const Node* find(const Node& root, std::string_view path) {
  const auto [section, key] = section_and_key(path);
  const Node* map = root.find(section);
  return map ? map->find(key) : nullptr;
}

// Returns the entry of a path. If the file lacks the entry, inserts it in the order of the spec.
Node& make(Node& root, std::string_view path) {
  const auto [section, key] = section_and_key(path);
  Node* map = root.find(section);
  MOIRE_INVARIANT(map != nullptr && map->is_map(), "a checked GPU file lacks a section: " + section);
  if (Node* there = map->find(key)) return *there;
  const std::vector<std::string> order = section_of(section)->keys();
  const auto rank = [&order](const std::string& name) { return std::find(order.begin(), order.end(), name); };
  const auto behind = std::find_if(map->entries.begin(), map->entries.end(),
                                   [&, own = key](const Node::Entry& entry) { return rank(entry.key) > rank(own); });
  return map->entries.insert(behind, {key, {}, Node{}})->value;
}

const Node* value_of(const Node* node) {
  if (!node) return nullptr;
  if (!node->is_map()) return node;
  return node->find("value");
}

config::Dimension dimension_of(const config::Field& field) {
  const config::Shape& shape = field.type.shape.innermost();
  return shape.form == config::Shape::Form::quantity ? shape.dimension : config::Dimension::ratio;
}

bool is_integer(const config::Field& field) {
  return field.type.shape.innermost().form == config::Shape::Form::integer;
}

// Returns the value with `digits` significant digits (0 means all), in a unit that is easy to read.
std::string rounded(double value, const config::Field& field, int digits) {
  if (is_integer(field)) return fmt::format("{:.0f}", value);
  const config::Dimension dimension = dimension_of(field);
  if (digits > 0 && dimension == config::Dimension::bytes) {  // decimal units: 97.28 kB and not 95 KiB
    if (value < 1e3) return fmt::format("{:.{}g} B", value, digits);
    return value < 1e6 ? fmt::format("{:.{}g} kB", value / 1e3, digits)
                       : fmt::format("{:.{}g} MB", value / 1e6, digits);
  }
  const double rounded = digits == 0 ? value : std::stod(fmt::format("{:.{}g}", value, digits));
  std::string text = config::format_quantity(rounded, dimension);
  if (dimension == config::Dimension::per_second) text.replace(text.size() - 2, 2, "Hz");  // these rates are clocks
  return text;
}

// Returns the value with all its digits, in its base unit.
std::string exact(double value, const config::Field& field) {
  if (is_integer(field)) return fmt::format("{:.0f}", value);
  switch (dimension_of(field)) {
    case config::Dimension::time:
      return fmt::format("{:.0f} ps", value);
    case config::Dimension::bytes:
      return fmt::format("{:.17g} B", value);
    case config::Dimension::bytes_per_second:
      return fmt::format("{:.17g} B/s", value);
    case config::Dimension::flop:
      return fmt::format("{:.17g} FLOP", value);
    case config::Dimension::flop_per_second:
      return fmt::format("{:.17g} FLOP/s", value);
    case config::Dimension::per_second:
      return fmt::format("{:.17g} /s", value);
    case config::Dimension::power:
      return fmt::format("{:.17g} W", value);
    case config::Dimension::energy:
      return fmt::format("{:.17g} J", value);
    case config::Dimension::ratio:
      return fmt::format("{:.17g}", value);
  }
  return {};
}

void drop_sources(Node& node) {
  std::erase_if(node.entries, [](const Node::Entry& entry) { return entry.key == "source"; });
  for (auto& entry : node.entries) drop_sources(entry.value);
  for (Node& item : node.items) drop_sources(item);
}

void move_to(const std::shared_ptr<const config::Source>& source, Node& node) {
  node.place.source = source;
  for (auto& entry : node.entries) move_to(source, entry.value);
  for (Node& item : node.items) move_to(source, item);
}

}  // namespace

std::optional<HardwareFile> HardwareFile::from(std::optional<Node> root, const std::optional<Node>& written,
                                               config::Diagnostics& diagnostics) {
  if (!root || !libraries::read_gpu(*root, diagnostics) || !diagnostics.ok()) return std::nullopt;
  HardwareFile out;
  for (Node::Entry& entry : root->entries) {
    if (!entry.value.top) continue;
    out.parts_[entry.key] = entry.value;
    entry.value = *written->find(entry.key);
  }
  out.root_ = std::move(*root);
  return out;
}

std::optional<HardwareFile> HardwareFile::load(const std::string& file, config::Diagnostics& diagnostics) {
  config::Diagnostics same;  // errors of the second load, which repeat those of the first
  auto out = from(config::load(file, {}, diagnostics), config::load(file, {}, same, {.includes = false}), diagnostics);
  if (out) out->comments_ = comments_in(file, out->root_);
  return out;
}

std::optional<HardwareFile> HardwareFile::load_text(const std::string& name, const std::string& text,
                                                    config::Diagnostics& diagnostics) {
  config::Diagnostics same;
  auto out = from(config::load_text(name, text, {}, diagnostics),
                  config::load_text(name, text, {}, same, {.includes = false}), diagnostics);
  if (out) out->comments_ = comments_of(out->root_, text);
  return out;
}

const config::Field* HardwareFile::field(std::string_view path) {
  const auto [section, key] = section_and_key(path);
  const config::Description* description = section_of(section);
  const config::Field* field = description ? description->find(key) : nullptr;
  if (!field) return nullptr;
  const auto form = field->type.shape.form;
  const bool number = form == config::Shape::Form::quantity || form == config::Shape::Form::integer ||
                      form == config::Shape::Form::number;
  return number ? field : nullptr;
}

bool HardwareFile::has_section_of(std::string_view path) const {
  return root_.find(section_and_key(path).first) != nullptr;
}

std::optional<double> HardwareFile::number(std::string_view path) const {
  const config::Field* known = field(path);
  MOIRE_INVARIANT(known != nullptr, "no such parameter: " + std::string(path));
  const Node* value = value_of(find(root_, path));
  double number = 0;
  if (value && value->is_scalar()) {
    if (config::parse_quantity(value->text, dimension_of(*known), number)) return std::nullopt;
    return number;
  }
  if (known->has_default && !config::parse_quantity(known->default_text, dimension_of(*known), number)) return number;
  return std::nullopt;
}

std::string HardwareFile::text(std::string_view path) const {
  const Node* value = value_of(find(root_, path));
  return value && value->is_scalar() ? value->text : std::string();
}

void HardwareFile::set(std::string_view path, double value) {
  const config::Field* known = field(path);
  MOIRE_INVARIANT(known != nullptr, "no such parameter: " + std::string(path));
  Node& node = make(root_, path);
  const std::string text = exact(value, *known);
  Node* there = node.is_map() ? node.find("value") : nullptr;
  if (there) {
    there->text = text;
    return;
  }
  // Uses any existing source for now; state() sets the final source.
  const Node* sources = root_.find("sources");
  const bool some = sources && !sources->entries.empty();
  node = some ? sourced(text, sources->entries.front().key) : scalar(text);
}

void HardwareFile::state(std::string_view path, double value, int digits, const std::string& source,
                         std::optional<double> residual) {
  const config::Field* known = field(path);
  MOIRE_INVARIANT(known != nullptr, "no such parameter: " + std::string(path));
  Node& node = make(root_, path);
  node = sourced(rounded(value, *known, digits), source);
  if (residual) {
    const double percent = *residual * 100;
    node.entries.push_back({"residual", {}, scalar(fmt::format("{:.1f} %", percent))});
  }
}

void HardwareFile::state_groups(const std::vector<std::pair<int, int>>& groups, const std::string& source) {
  Node list;
  list.kind = Node::Kind::sequence;
  for (std::size_t i = 0; i < groups.size();) {
    std::size_t same = i;
    while (same < groups.size() && groups[same] == groups[i]) ++same;
    Node group;
    group.kind = Node::Kind::map;
    group.entries.push_back({"cus", {}, sourced(std::to_string(groups[i].first), source)});
    if (same - i > 1) group.entries.push_back({"count", {}, sourced(std::to_string(same - i), source)});
    if (groups[i].second > 0) {
      group.entries.push_back({"filled_first", {}, sourced(std::to_string(groups[i].second), source)});
    }
    list.items.push_back(std::move(group));
    i = same;
  }
  make(root_, "compute.groups") = std::move(list);
  // The ports refer to the former groups.
  if (Node* compute = root_.find("compute")) {
    std::erase_if(compute->entries, [](const Node::Entry& e) { return e.key == "ports" || e.key == "port_queue"; });
  }
}

void HardwareFile::state_ports(const std::vector<std::int64_t>& ports, double queue, const std::string& source) {
  Node list;
  list.kind = Node::Kind::sequence;
  for (const std::int64_t port : ports) list.items.push_back(scalar(std::to_string(port)));
  Node& node = make(root_, "compute.ports");
  node = sourced("", source);
  *node.find("value") = std::move(list);
  state("compute.port_queue", queue, 0, source, std::nullopt);
}

void HardwareFile::take_over(std::string_view path, const HardwareFile& other) {
  if (const Node* theirs = find(other.root_, path)) {
    make(root_, path) = *theirs;
    return;
  }
  const auto [section, key] = section_and_key(path);
  if (Node* map = root_.find(section)) {
    std::erase_if(map->entries, [k = key](const Node::Entry& entry) { return entry.key == k; });
  }
}

std::string HardwareFile::name() const {
  const Node* node = root_.find("name");
  return node ? node->text : std::string();
}

void HardwareFile::rename(const std::string& name, const std::string& comment) {
  MOIRE_INVARIANT(!root_.entries.empty(), "a GPU file without keys");
  *root_.find("name") = scalar(name);
  comments_[root_.entries.front().key] = {comment};
}

void HardwareFile::release(std::string_view path) {
  if (find(root_, path)) drop_sources(make(root_, path));
}

std::string HardwareFile::add_source(const std::string& wanted, const std::string& text) {
  const std::set<std::string> named = sources_of(root_);
  Node* sources = root_.find("sources");
  if (!sources) {
    Node map;
    map.kind = Node::Kind::map;
    sources = &root_.entries.insert(root_.entries.begin(), {"sources", {}, map})->value;
  }
  std::string key = wanted;
  for (int n = 2; named.contains(key) && sources->find(key) && sources->find(key)->text != text; ++n) {
    key = fmt::format("{}_{}", wanted, n);
  }
  set_source_text(key, text);
  return key;
}

void HardwareFile::set_source_text(const std::string& key, const std::string& text) {
  Node* sources = root_.find("sources");
  MOIRE_INVARIANT(sources != nullptr, "a source before there are sources");
  if (Node* there = sources->find(key)) {
    there->text = text;
    return;
  }
  Node node = scalar(text);
  node.quoted = true;
  sources->entries.push_back({key, {}, node});
}

std::optional<libraries::EquippedGpu> HardwareFile::spec(config::Diagnostics& diagnostics) const {
  Node root = root_;
  auto source = std::make_shared<config::Source>(*root_.place.source);
  source->references.clear();  // replaced by the current sources
  if (const Node* sources = root_.find("sources")) {
    for (const auto& entry : sources->entries) source->references[entry.key] = entry.value.text;
  }
  move_to(source, root);
  for (const auto& [key, part] : parts_) {
    if (Node* there = root.find(key)) *there = part;
  }
  return libraries::read_gpu(root, diagnostics);
}

config::Place HardwareFile::place(std::string_view path) const {
  const Node* value = value_of(find(root_, path));
  return value && value->place.source ? value->place : root_.place;
}

std::string HardwareFile::yaml() const { return in_layout(root_, comments_); }

}  // namespace moire::calibrate
