// The commands of `moire`. Each function add_* adds one command to the parser of the command line. When the parser
// finds the command, it stores in `action` the function that executes the command.
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

// Parses the command line, runs the command, and returns the exit status. Exceptions become an exit status, too.
int run_command_line(int argc, char** argv);

}  // namespace moire::cli
