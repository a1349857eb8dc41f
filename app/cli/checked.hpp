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

// For a file that cannot be read or breaks a rule. People read only the error messages.
Checked refused(const std::string& file, const std::string& kind = {});
// "FILE: ok (KIND)" and lines with what was found; fields for programs. `ok` is false if the file can be read but its
// check failed.
Checked judged(const std::string& file, const std::string& kind, bool ok = true,
               const std::vector<std::pair<std::string, std::string>>& found = {}, report::Cell::Record fields = {});

// Errors and warnings go to `diagnostics`.
Checked check_algorithm(const std::string& file, std::optional<std::uint64_t> bytes, config::Diagnostics& diagnostics);
Checked check_plan(const std::string& file, config::Diagnostics& diagnostics);
bool is_plan(const std::string& file);  // by the extension .json

}  // namespace moire::cli
