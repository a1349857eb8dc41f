// Where lines of the log go: to stderr or into a file, or, in a process that works for another one, back to that one.
#pragma once

#include <string>

#include "sim/core/log.hpp"

namespace moire::process {

// To `file`, which begins anew, or to stderr where it is empty. Lines are "level: text" without a time, so that two
// logs can be compared. Errors and warnings go to a file only: the command writes them to stderr by itself. Throws
// RunFailure where the file cannot be written, is no log of an earlier command, or another command writes it.
void start_log(core::LogLevel level, const std::string& file);
// At the end of the command. Throws RunFailure where the file did not take all lines.
void end_log();

// From here on lines are kept: for a child process. What its parent logged before is not among them.
void keep_log();
std::string kept_log();
// Writes what a child kept.
void replay_log(const std::string& kept);

}  // namespace moire::process
