// What commands do with the document of a result: --format and --out.
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
  std::string out;                   // a folder; none: stdout
};

// --format, with every format that there is; `help` stands before their list. `output` has to outlive the command.
CLI::Option* add_format(CLI::App& command, Output& output, const std::string& help = "");
// --out DIR, into which each format goes as `name`: "<scenario>".
CLI::Option* add_out(CLI::App& command, Output& output, const std::string& name);

// Where a document goes: each format to stdout, one after the other, or to <out>/<stem>.<extension>; the first format
// there is where none is named. Made before the simulation, so that nobody waits for a result that cannot be kept. All
// throw core::RunFailure, write() also process::OutputLost.
class Destination {
 public:
  Destination(const Output& output, const std::string& stem);
  // One more file.
  void add(const report::Format& format, const std::filesystem::path& file);
  // What cannot be written keeps none of the others from being written.
  void write(const report::Document& document);

 private:
  struct Target {
    const report::Format* format;
    std::unique_ptr<process::OutputFile> file;  // none: stdout
  };
  std::vector<Target> targets_;
};

}  // namespace moire::cli
