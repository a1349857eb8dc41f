// Output of the log: to stderr, to a file or, in a worker process, back to its parent.
#pragma once

#include <string>

#include "sim/core/log.hpp"

namespace moire::process {

// Writes the log to `file`, which is truncated, or to stderr if the name is empty. Lines are "level: text" without a
// time, so that two logs can be compared. Errors and warnings go to a file only, because the command itself writes them
// to stderr. Throws RunFailure if the file cannot be written, is not a log of an earlier command, or is being written
// by another command.
void start_log(core::LogLevel level, const std::string& file);
// Call at the end of the command. Throws RunFailure if the file did not take all lines.
void end_log();

// For a child process: from now on lines are kept in memory, without those that the parent logged before.
void keep_log();
std::string kept_log();
// Writes the lines that a child kept.
void replay_log(const std::string& kept);

}  // namespace moire::process
