// Everything wrong with the user's input, collected so that one run shows all of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/place.hpp"
#include "sim/config/problem.hpp"

namespace moire::config {

struct Diagnostic {
  Place place;
  std::string what;    // what is wrong
  std::string remedy;  // what would be right; may be empty

  bool warning = false;

  std::string str() const;  // "file:line:col: what; remedy", with "warning: " before what is one
};

class Diagnostics {
 public:
  void error(const Place& place, std::string what, std::string remedy = {});
  void error(const Place& place, Problem problem);
  // What is odd and may be meant: told, and nothing is refused for it.
  void warning(const Place& place, std::string what, std::string remedy = {});

  bool ok() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }

  // Files in the order of their first error, each from top to bottom; the same error is told once.
  std::vector<Diagnostic> sorted() const;
  // One line an error, each ends in a newline; of many the first `told`, and how many more there are.
  std::string str() const;
  static constexpr std::size_t told = 100;

  bool warned() const { return !warnings_.empty(); }
  std::string warnings() const;  // as str(), of warnings

 private:
  std::vector<Diagnostic> all_;
  std::vector<Diagnostic> warnings_;
};

// Where a text stops being UTF-8; its size where it does not.
std::size_t valid_utf8(std::string_view text);

// User text as a terminal may show it: control characters, and bytes that are no UTF-8, as \x1b.
std::string printable(std::string_view text);

// The same in single quotes, cut when long.
std::string in_quotes(std::string_view text);

}  // namespace moire::config
