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
  std::string str() const;  // one line an error, each ends in a newline

  bool warned() const { return !warnings_.empty(); }
  std::string warnings() const;  // as str(), of warnings

 private:
  std::vector<Diagnostic> all_;
  std::vector<Diagnostic> warnings_;
};

// User text as errors show it: in single quotes, control characters escaped, cut when long.
std::string in_quotes(std::string_view text);

}  // namespace moire::config
