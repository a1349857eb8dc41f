// The result of `moire check` for one file: a text for people, and fields for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/exit_status.hpp"
#include "app/report/document.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::cli {

struct Checked {
  int status = done;
  report::Document document;
};

// Returns the result for a file that cannot be read or breaks a rule. It has no text, because people read the error
// messages.
Checked refused(const std::string& file, const std::string& kind = {});
// Returns the result for a file that can be read. Its text is "FILE: ok (KIND)" and a line for each entry of `found`,
// and its fields are `fields`. `ok` is false if the check failed, for example because an algorithm is wrong.
Checked judged(const std::string& file, const std::string& kind, bool ok = true,
               const std::vector<std::pair<std::string, std::string>>& found = {}, report::Cell::Record fields = {});

// The functions below check one file and add errors and warnings to `diagnostics`. If `bytes` is given, also checks
// that the algorithm does not deadlock with a buffer of this size.
Checked check_algorithm(const std::string& file, std::optional<std::uint64_t> bytes, config::Diagnostics& diagnostics);
Checked check_plan(const std::string& file, config::Diagnostics& diagnostics);
bool is_plan(const std::string& file);  // true if the extension is .json

}  // namespace moire::cli
