// What moire check says of one file: a line and what it has found for people, fields for programs.
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

// A file that cannot be read or breaks a rule: people read what is wrong, not that it is.
Checked refused(const std::string& file, const std::string& kind = {});
// "FILE: ok (KIND)" and lines of what was found; the same for programs. `ok`: false where it can be read and does not
// hold.
Checked judged(const std::string& file, const std::string& kind, bool ok = true,
               const std::vector<std::pair<std::string, std::string>>& found = {}, report::Cell::Record fields = {});

// Errors and warnings go to `diagnostics`.
Checked check_algorithm(const std::string& file, std::optional<std::uint64_t> bytes, config::Diagnostics& diagnostics);
Checked check_plan(const std::string& file, config::Diagnostics& diagnostics);
bool is_plan(const std::string& file);  // by its extension, .json

}  // namespace moire::cli
