// Collects everything that is wrong with the user's input, so that one run reports all of it.
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

  std::string str() const;  // "file:line:col: what; remedy", with "warning: " before `what` for warnings
};

class Diagnostics {
 public:
  void error(const Place& place, std::string what, std::string remedy = {});
  void error(const Place& place, Problem problem);
  // Reports something unusual that may be intended. The input is accepted nevertheless.
  void warning(const Place& place, std::string what, std::string remedy = {});

  bool ok() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }

  // Returns all errors without duplicates: files in the order of their first error, and each file from top to bottom.
  std::vector<Diagnostic> sorted() const;
  // Returns the first `told` errors with one line each, then a line with the number of the remaining errors. Every line
  // ends in a newline.
  std::string str() const;
  static constexpr std::size_t told = 100;

  bool warned() const { return !warnings_.empty(); }
  std::string warnings() const;  // like str(), for warnings

 private:
  std::vector<Diagnostic> all_;
  std::vector<Diagnostic> warnings_;
};

// Returns the offset of the first byte that is not valid UTF-8, or the size of the text if all bytes are valid.
std::size_t valid_utf8(std::string_view text);

// Makes a user's text safe for terminals: control characters and bytes that are not UTF-8 become escapes like \x1b.
std::string printable(std::string_view text);

// Returns printable(text) in single quotes. Of a text that is longer than 60 bytes, only the first 60 bytes are shown.
std::string in_quotes(std::string_view text);

}  // namespace moire::config
