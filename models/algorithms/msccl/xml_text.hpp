// An XML text with places: elements, their attributes as a table of known names, and where each stands.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/algorithms/msccl/complaints.hpp"

namespace moire::msccl {

class XmlText {
 public:
  // Parses `text`. What is wrong goes to `complaints`.
  XmlText(std::string text, Complaints& complaints);
  XmlText(const XmlText&) = delete;
  XmlText& operator=(const XmlText&) = delete;

  bool ok() const { return root_; }
  pugi::xml_node root() const { return root_; }

  Spot spot_of(const pugi::xml_node& element) const { return at(element.name() - 1); }
  Spot spot_of(const pugi::xml_attribute& attribute) const { return at(attribute.name()); }

 private:
  Spot at(const char* where) const;
  Spot at(std::size_t offset) const;

  std::string text_;
  std::vector<std::uint32_t> line_starts_;
  mutable std::size_t last_line_ = 0;  // elements are asked for from top to bottom
  pugi::xml_document document_;
  pugi::xml_node root_;
};

// The attributes of one kind of element.
struct Known {
  std::string_view name;
  bool required = true;
};

// Reads attributes of one element, names it in what is wrong.
template <std::size_t N>
class Attributes {
 public:
  explicit Attributes(const std::array<Known, N>& known) : known_(&known) {}

  // False where one is missing or there twice. `name` is asked for only then.
  template <class Name>
  bool read(const pugi::xml_node& element, const XmlText& text, const Name& name, Complaints& complaints) {
    found_ = {};
    bool good = true;
    std::size_t expected = 0;  // files have them in one order
    for (const pugi::xml_attribute attribute : element.attributes()) {
      std::size_t i = 0;
      while (i < N && (*known_)[(expected + i) % N].name != attribute.name()) ++i;
      if (i == N) {
        complaints.warning("attribute " + std::string(attribute.name()).substr(0, 60), text.spot_of(attribute),
                           config::in_quotes(attribute.name()) + " of " + element.name() + " is ignored", {});
        continue;
      }
      const std::size_t which = (expected + i) % N;
      expected = which + 1;
      if (found_[which]) {
        complaints.error(text.spot_of(attribute), name() + ": " + attribute.name() + " is there twice", "once");
        good = false;
      }
      found_[which] = attribute;
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (found_[i] || !(*known_)[i].required) continue;
      complaints.error(text.spot_of(element),
                       name() + ": the attribute " + std::string((*known_)[i].name) + " is missing",
                       std::string("every ") + element.name() + " has it");
      good = false;
    }
    return good;
  }

  bool has(std::size_t which) const { return found_[which]; }
  std::string_view text(std::size_t which) const { return found_[which].value(); }
  const pugi::xml_attribute& operator[](std::size_t which) const { return found_[which]; }

  // The value as an integer from `least` to `most`; what is wrong is told, with `good` set to false. 0 where there is
  // no such attribute.
  template <class Integer, class Name>
  Integer integer(std::size_t which, const XmlText& xml, const Name& name, Complaints& complaints, bool& good,
                  Integer least, Integer most) const {
    if (!found_[which]) return {};
    const std::string_view digits = text(which);
    Integer value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool number = end == digits.data() + digits.size() && !digits.empty();
    if (number && error == std::errc() && least <= value && value <= most) return value;
    good = false;
    const bool out_of_range = number && error != std::errc::invalid_argument;
    const bool any = least == -most && !out_of_range;
    complaints.error(xml.spot_of(found_[which]),
                     name() + ": " + found_[which].name() + " is " + config::in_quotes(digits) +
                         (out_of_range ? ", which is out of range" : ", not a whole number"),
                     any ? std::string("digits, as 12 or -1") : std::to_string(least) + " to " + std::to_string(most));
    return {};
  }

 private:
  const std::array<Known, N>* known_;
  std::array<pugi::xml_attribute, N> found_;
};

}  // namespace moire::msccl
