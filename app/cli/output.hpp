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

// Adds the option --format, whose help text is `help` and a list of all formats. `output` must outlive the command.
CLI::Option* add_format(CLI::App& command, Output& output, const std::string& help = "");
// Adds the option --out DIR. Its help text calls the files in DIR `name`, without extension, such as "<scenario>".
CLI::Option* add_out(CLI::App& command, Output& output, const std::string& name);

// Writes a document in each requested format: to stdout, one format after the other, or to <out>/<stem>.<extension>.
// Without --format, only the first of report::formats() is written. The constructor opens the files. Commands call it
// before the simulation, so that a path that cannot be written fails early. All functions throw core::RunFailure if a
// file cannot be written; write() also throws process::OutputLost if stdout cannot.
class Destination {
 public:
  Destination(const Output& output, const std::string& stem);
  // Adds another file to which the document is written.
  void add(const report::Format& format, const std::filesystem::path& file);
  // Writes all files, even if one of them fails.
  void write(const report::Document& document);

 private:
  struct Target {
    const report::Format* format;
    std::unique_ptr<process::OutputFile> file;  // null: stdout
  };
  std::vector<Target> targets_;
};

}  // namespace moire::cli
