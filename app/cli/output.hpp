// What commands do with the document of a result: --format and --out.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/report/document.hpp"

namespace moire::cli {

struct Output {
  std::vector<std::string> formats;  // names of report::formats()
  std::string out;                   // a folder; none: stdout
};

// --format, with every format that there is; `help` stands before their list. `output` has to outlive the command.
CLI::Option* add_format(CLI::App& command, Output& output, const std::string& help = "");
// --out DIR, into which each format goes as `name`: "<scenario>".
CLI::Option* add_out(CLI::App& command, Output& output, const std::string& name);

// Makes the folder, before the simulation, so that nobody waits for a result that cannot be kept. Throws
// core::RunFailure.
void prepare(const Output& output);

// Prints the formats one after the other, the first one there is where none is named, or writes each to
// <out>/<stem>.<extension>. Throws core::RunFailure.
void write(const report::Document& document, const Output& output, const std::string& stem);

}  // namespace moire::cli
