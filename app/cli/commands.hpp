// The commands of `moire`. Each function add_* adds one command to the parser. The command that the user calls stores
// in `action` what to execute.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace moire::cli {

using Action = std::function<int()>;  // returns the exit status

void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_advise(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_compile(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);

// Parses the command line, runs the command, and turns exceptions into an exit status.
int run_command_line(int argc, char** argv);

}  // namespace moire::cli
