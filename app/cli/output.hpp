// The options --format and --out, and the files that they name.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/report/formats.hpp"
#include "sim/process/output_file.hpp"

namespace moire::cli {

struct Output {
  std::vector<std::string> formats;  // names of report::formats()
  std::string out;                   // a folder; empty: stdout
};

// Adds --format with all formats; `help` precedes their list. `output` must outlive the command.
CLI::Option* add_format(CLI::App& command, Output& output, const std::string& help = "");
// Adds --out DIR; files in it are called `name`, such as "<scenario>".
CLI::Option* add_out(CLI::App& command, Output& output, const std::string& name);

// Where a document goes: each format to stdout, one after the other, or to <out>/<stem>.<extension>. Without --format,
// the first format. Files are opened before the simulation, so that a path that cannot be written fails early. All
// functions throw core::RunFailure, write() also process::OutputLost.
class Destination {
 public:
  Destination(const Output& output, const std::string& stem);
  // Adds another file.
  void add(const report::Format& format, const std::filesystem::path& file);
  // Writes all files, even if one of them fails.
  void write(const report::Document& document);

 private:
  struct Target {
    const report::Format* format;
    std::unique_ptr<process::OutputFile> file;  // none: stdout
  };
  std::vector<Target> targets_;
};

}  // namespace moire::cli
