// A spec is a plain struct with one description of itself. Parsing, help and reference pages use this description.
//
//   struct HbmSpec {
//     BytesPerSecond bandwidth;
//     double latency_growth = 0.3;
//
//     static void describe(config::Describer<HbmSpec>& d) {
//       d.component("hbm", "High-bandwidth memory of one GPU.");
//       d.field("bandwidth", &HbmSpec::bandwidth, "Peak read bandwidth").positive();
//       d.field("latency_growth", &HbmSpec::latency_growth, "Growth of latency under load").range(0, 10).or_default();
//     }
//   };
//
// A field is required unless it says .optional() or .or_default(), or its member is a std::optional.
#pragma once

#include <initializer_list>
#include <stdexcept>

#include "sim/config/codec.hpp"

namespace moire::config {

// The innermost value type of lists, maps and optionals. The limits of a field apply to values of this type.
template <class M>
struct LeafOf {
  using type = M;
};
template <class M>
struct LeafOf<std::optional<M>> : LeafOf<M> {};
template <class M>
struct LeafOf<std::vector<M>> : LeafOf<M> {};
template <class M>
struct LeafOf<std::vector<std::pair<std::string, M>>> : LeafOf<M> {};
template <class M>
struct LeafOf<std::map<std::string, M>> : LeafOf<M> {};

template <class M>
inline constexpr bool is_optional = false;
template <class M>
inline constexpr bool is_optional<std::optional<M>> = true;

constexpr double in_base_units(double value) { return value; }

// d.field(...) returns a FieldBuilder. Each of its functions restricts the values of the field or adds to its help. The
// limits of a list or map apply to each of its values.
template <class M>
class FieldBuilder {
 public:
  using Leaf = typename LeafOf<M>::type;
  // Limits are given in the field's own type (`Bytes{64}`, 0.5) or as text with a unit ("1 GB/s").
  using Limit = std::conditional_t<HasDimension<Leaf>, Leaf, double>;

  explicit FieldBuilder(Field& field) : field_(field) {
    if constexpr (HasDimension<Leaf>) field_.limits.high = bounds_of(DimensionOf<Leaf>::value).most;
    if constexpr (std::same_as<Leaf, double>) field_.limits.high = most_ratio;
  }

  FieldBuilder& positive() { return limit(least(), field_.limits.high); }
  FieldBuilder& at_least(Limit low) { return limit(in_base_units(low), field_.limits.high); }
  FieldBuilder& at_least(std::string_view low) { return limit(number(low), field_.limits.high); }
  FieldBuilder& range(Limit low, Limit high) { return limit(in_base_units(low), in_base_units(high)); }
  FieldBuilder& range(std::string_view low, std::string_view high) { return limit(number(low), number(high)); }

  // Permits fractions of a byte, for sizes that are means or costs expressed in bytes.
  FieldBuilder& fractional() requires std::same_as<Leaf, Bytes> {
    field_.fractional = true;
    return *this;
  }

  FieldBuilder& optional() {  // if the key is absent, the member keeps its initial value, which help does not show
    field_.required = false;
    return *this;
  }
  FieldBuilder& or_default() {  // if the key is absent, the member keeps its initial value, which help shows
    field_.required = false;
    field_.has_default = true;
    return *this;
  }
  FieldBuilder& example(std::string text) {
    field_.example_text = std::move(text);
    return *this;
  }

  FieldBuilder& choices(std::initializer_list<std::pair<const char*, Leaf>> choices) requires std::is_enum_v<Leaf> {
    for (const auto& [name, value] : choices) field_.choices.emplace_back(name, static_cast<std::int64_t>(value));
    return *this;
  }
  FieldBuilder& choices(std::initializer_list<const char*> names) requires std::same_as<Leaf, std::string> {
    for (const char* name : names) field_.choices.emplace_back(name, std::ssize(field_.choices));
    return *this;
  }
  FieldBuilder& exists()  // the file or folder must exist
      requires std::same_as<Leaf, std::filesystem::path> {
    field_.must_exist = true;
    return *this;
  }

 private:
  static constexpr double most_ratio = 1e6;  // the smallest positive ratio is 1 / most_ratio

  // The smallest value that counts as positive.
  static double least() {
    if constexpr (std::same_as<Leaf, Bytes> || std::integral<Leaf>) return 1;
    if constexpr (HasDimension<Leaf>) return bounds_of(DimensionOf<Leaf>::value).least;
    return 1 / most_ratio;
  }
  FieldBuilder& limit(double low, double high) {
    static_assert(HasDimension<Leaf> || std::is_arithmetic_v<Leaf>, "only numbers have limits");
    field_.limits = {low, high};
    return *this;
  }
  static double number(std::string_view text) {
    double value = 0;
    auto dimension = Dimension::ratio;
    if constexpr (HasDimension<Leaf>) dimension = DimensionOf<Leaf>::value;
    if (parse_quantity(text, dimension, value)) throw std::logic_error("bad limit in a spec: " + std::string(text));
    return value;
  }

  Field& field_;
};

template <class T>
class Describer {
 public:
  explicit Describer(Description& out) : out_(out) {}

  void component(std::string name, std::string meaning) {
    out_.name = std::move(name);
    out_.meaning = std::move(meaning);
  }

  // States that every number of this spec must be written as {value: ..., source: ...}.
  void sourced() { out_.sourced = true; }

  template <class Base, class M>
  FieldBuilder<M> field(std::string key, M Base::*member, std::string meaning) {
    Field& added = out_.fields.emplace_back();
    added.key = std::move(key);
    added.meaning = std::move(meaning);
    added.type = type_functions<M>();
    added.locate = [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); };
    added.required = !is_optional<M>;
    return FieldBuilder<M>(added);
  }

  // Describes a key whose value another reader parses with read_at(). `component` is the name of the value's spec,
  // which is in a folder that this spec's folder must not include. The key has no member in T. It is described so that
  // it is not an unknown key, and so that help and messages can name it.
  FieldBuilder<Node> field_elsewhere(std::string key, std::string component, std::string meaning) {
    Field& added = out_.fields.emplace_back();
    added.key = std::move(key);
    added.meaning = std::move(meaning);
    added.type = {{.form = Shape::Form::spec, .elsewhere = std::move(component)},
                  [](const Node& node, void*, const Reading&) { return !node.broken; },
                  [](const void*, const Field&) { return std::string("its own defaults"); }};
    added.locate = [](void*) -> void* { return nullptr; };
    return FieldBuilder<Node>(added);
  }

  // Adds a check that runs after all fields were read without error. The problem that `run` returns is reported at the
  // place of the spec, or of the value of `key`.
  void check(std::function<std::optional<Problem>(const T&)> run) { check("", std::move(run)); }
  void check(std::string key, std::function<std::optional<Problem>(const T&)> run) {
    out_.checks.push_back(
        {std::move(key), [run = std::move(run)](const void* object) { return run(*static_cast<const T*>(object)); }});
  }

 private:
  Description& out_;
};

template <Described T>
const Description& description() {
  static const Description described = [] {
    Description made;
    Describer<T> describer(made);
    T::describe(describer);
    T defaults{};
    for (Field& field : made.fields) {
      if (field.has_default) field.default_text = field.type.show(field.locate(&defaults), field);
    }
    return made;
  }();
  return described;
}

// Returns the typed spec, or nothing with the reasons in `diagnostics`. `provenance` receives one entry per value.
// `path` is the node's path in its tree ("gpu.hbm"), for messages.
template <Described T>
std::optional<T> parse(const Node& node, Diagnostics& diagnostics, std::vector<Provenance>* provenance = nullptr,
                       std::string path = {}) {
  Reading reading;
  reading.diagnostics = &diagnostics;
  reading.provenance = provenance;
  reading.path = std::move(path);
  reading.enter(node);
  T spec{};
  if (!read_spec(node, description<T>(), &spec, reading)) return std::nullopt;
  return spec;
}

// Returns the node at the path `keys` below `root`, or null if a key is missing. Sets `reading` to the node's context.
const Node* descend(const Node& root, std::initializer_list<std::string_view> keys, Reading& reading);

// Reads the value at the path `keys` below `root`, for a key that is described with Describer::field_elsewhere. If the
// value is absent, `out` is unchanged. Returns false with the reasons in `diagnostics` if the value is invalid. `path`
// is the path of `root` in its file, for messages.
template <class M>
bool read_at(const Node& root, std::initializer_list<std::string_view> keys, M& out, Diagnostics& diagnostics,
             std::vector<Provenance>* provenance = nullptr, std::string path = {}) {
  Reading reading;
  reading.diagnostics = &diagnostics;
  reading.provenance = provenance;
  reading.path = std::move(path);
  const Node* node = descend(root, keys, reading);
  return node == nullptr || Codec<M>::read(*node, out, reading);
}

}  // namespace moire::config
