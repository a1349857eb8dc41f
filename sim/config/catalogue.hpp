// The specs a program knows, for `moire explain` and the generated reference.
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
  // Adds T and, after it, the named components nested in it. Throws std::logic_error for two specs of one name.
  template <Described T>
  void add() {
    add(description<T>());
  }

  std::vector<std::string> names() const;  // in the order added
  const Description* find(std::string_view name) const;

  // One line a component.
  std::string list() const;

  // Help for "hbm", "hbm.bandwidth" or, through nested specs, "gpu.hbm.bandwidth". Nothing, and a diagnostic without
  // a place, where there is no such thing.
  std::optional<std::string> explain(std::string_view topic, Diagnostics& diagnostics) const;

  std::string markdown(const Description& component) const;  // one reference page
  std::string markdown() const;                              // the index page, linking <name>.md

 private:
  void add(const Description& component);
  const Description* nested_in(const Field& field) const;  // null where the field is no spec, or nobody added it

  std::vector<const Description*> components_;
  std::vector<const Description*> unnamed_;  // walked for what they nest, but no topic of their own
};

}  // namespace moire::config
