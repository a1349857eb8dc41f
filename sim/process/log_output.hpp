// Writes the log to stderr or to a file. The log of a worker process goes to its parent process.
#pragma once

#include <string>

#include "sim/core/log.hpp"

namespace moire::process {

// Writes the log to `file`, which is truncated, or to stderr if the name is empty. Lines are "level: text" without a
// time, so that two logs can be compared. Errors and warnings go to a file only, because the command itself writes them
// to stderr. Throws RunFailure if the file cannot be written, is not a log of an earlier command, or is being written
// by another command.
void start_log(core::LogLevel level, const std::string& file);
// Call at the end of the command. Throws RunFailure if some lines could not be written.
void end_log();

// For a child process: from now on, new lines are kept in memory instead of being written.
void keep_log();
std::string kept_log();
// For the parent: writes the lines that a child has kept.
void replay_log(const std::string& kept);

}  // namespace moire::process
