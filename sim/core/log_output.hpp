// Where lines of the log go: to stderr or into a file, or, in a process that works for another one, back to that one.
#pragma once

#include <string>

#include "sim/core/log.hpp"

namespace moire::core {

// To `file`, which begins anew, or to stderr where it is empty. Lines are "level: text" without a time, so that two
// logs can be compared. Errors and warnings go to a file only: the command writes them to stderr by itself. Throws
// RunFailure where the file cannot be written.
void start_log(LogLevel level, const std::string& file);

// From here on lines are kept: for a child process. What its parent logged before is not among them.
void keep_log();
std::string kept_log();
// Writes what a child kept.
void replay_log(const std::string& kept);

}  // namespace moire::core
