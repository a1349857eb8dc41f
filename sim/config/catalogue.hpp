// The specs that Moire knows. `moire explain` and the generated reference pages are made from this catalogue.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.hpp"
#include "sim/config/spec.hpp"

namespace moire::config {

class Catalogue {
 public:
  // Adds T, then the specs nested in T. Throws std::logic_error if two different specs have the same name.
  template <Described T>
  void add() {
    add(description<T>());
  }

  std::vector<std::string> names() const;  // in the order added
  const Description* find(std::string_view name) const;

  // Returns a list of all components, with one line per component.
  std::string list() const;

  // Returns the help for a topic: "hbm", "hbm.bandwidth" or, through nested specs, "gpu.hbm.bandwidth". If the topic is
  // unknown, returns nothing and adds a diagnostic without a place.
  std::optional<std::string> explain(std::string_view topic, Diagnostics& diagnostics) const;

  std::string markdown(const Description& component) const;  // one reference page
  std::string markdown() const;                              // the index page, linking <name>.md

 private:
  void add(const Description& component);
  const Description* nested_in(const Field& field) const;  // null if the field is not a spec, or its spec was not added

  std::vector<const Description*> components_;
  std::vector<const Description*> unnamed_;  // specs without a name: no topics, but specs nested in them may be topics
};

}  // namespace moire::config
