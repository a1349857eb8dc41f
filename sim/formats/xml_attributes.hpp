// Reads the attributes of one kind of XML element, given a table of the known attributes.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "sim/formats/number.hpp"
#include "sim/formats/xml.hpp"

namespace moire::formats {

struct KnownAttribute {
  std::string_view name;
  bool required = true;
};

// Reads the attributes of elements, one element after the other.
template <std::size_t N>
class XmlAttributes {
 public:
  explicit XmlAttributes(const std::array<KnownAttribute, N>& known) : known_(&known) {}

  // Reads the attributes of `element`, and warns of unknown attributes. Reports an error and returns false if a
  // required attribute is missing or an attribute appears twice. The function `name` returns the element's name for
  // messages. It is called only for errors.
  template <class Name>
  bool read(const pugi::xml_node& element, const XmlText& text, const Name& name, Complaints& complaints) {
    found_ = {};
    bool good = true;
    std::size_t expected = 0;  // files usually have the attributes in the order of the table
    for (const pugi::xml_attribute attribute : element.attributes()) {
      std::size_t i = 0;
      while (i < N && (*known_)[(expected + i) % N].name != attribute.name()) ++i;
      if (i == N) {
        complaints.warning("attribute " + std::string(attribute.name()).substr(0, 60), text.position(attribute),
                           config::in_quotes(attribute.name()) + " of " + element.name() + " is ignored", {});
        continue;
      }
      const std::size_t which = (expected + i) % N;
      expected = which + 1;
      if (found_[which]) {
        complaints.error(text.position(attribute), name() + ": " + attribute.name() + " appears twice",
                         "keep one of them");
        good = false;
      }
      found_[which] = attribute;
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (found_[i] || !(*known_)[i].required) continue;
      complaints.error(text.position(element),
                       name() + ": the attribute " + std::string((*known_)[i].name) + " is missing",
                       std::string("every ") + element.name() + " needs it");
      good = false;
    }
    return good;
  }

  bool has(std::size_t which) const { return found_[which]; }
  std::string_view text(std::size_t which) const { return found_[which].value(); }
  const pugi::xml_attribute& operator[](std::size_t which) const { return found_[which]; }

  // The value as an integer from `least` to `most`. If it is invalid, reports the problem and sets `good` to false.
  // Returns 0 if there is no such attribute.
  template <class Integer, class Name>
  Integer integer(std::size_t which, const XmlText& xml, const Name& name, Complaints& complaints, bool& good,
                  Integer least, Integer most) const {
    Integer value{};
    if (!found_[which]) return value;
    const Digits digits = parse_number(text(which), value, least, most);
    if (digits == Digits::good) return value;
    good = false;
    const bool any = least == -most && digits == Digits::none;
    complaints.error(xml.position(found_[which]),
                     name() + ": " + found_[which].name() + " is " + config::in_quotes(text(which)) +
                         (digits == Digits::out_of_range ? ", which is out of range" : ", not an integer"),
                     any ? std::string("write digits, like 12 or -1")
                         : "write " + std::to_string(least) + " to " + std::to_string(most));
    return {};
  }

 private:
  const std::array<KnownAttribute, N>* known_;
  std::array<pugi::xml_attribute, N> found_;
};

}  // namespace moire::formats
