// The result of `moire check` for one file: text for people, fields for programs.
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

// The result for a file that cannot be read or breaks a rule. It has fields only, because people read the error
// messages.
Checked refused(const std::string& file, const std::string& kind = {});
// The result for a file that can be read. People get "FILE: ok (KIND)" and a line for each entry of `found`, programs
// get `fields`. `ok` is false if the check failed, for example because an algorithm is wrong.
Checked judged(const std::string& file, const std::string& kind, bool ok = true,
               const std::vector<std::pair<std::string, std::string>>& found = {}, report::Cell::Record fields = {});

// The functions below check one file and add errors and warnings to `diagnostics`. If `bytes` is given, also checks
// whether the algorithm ends with a buffer of this size.
Checked check_algorithm(const std::string& file, std::optional<std::uint64_t> bytes, config::Diagnostics& diagnostics);
Checked check_plan(const std::string& file, config::Diagnostics& diagnostics);
bool is_plan(const std::string& file);  // true if the extension is .json

}  // namespace moire::cli
