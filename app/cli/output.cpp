#include "app/cli/output.hpp"

#include <fmt/format.h>

#include "app/cli/files.hpp"
#include "app/report/formats.hpp"
#include "sim/config/suggest.hpp"

namespace moire::cli {

namespace {

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const report::Format& format : report::formats()) list.push_back(format.name);
  return list;
}

}  // namespace

CLI::Option* add_format(CLI::App& command, Output& output, const std::string& help) {
  std::vector<std::string> list = names();
  if (help.empty()) list.front() += " (the default)";
  return command.add_option("--format", output.formats, help + config::join(list) + ", or several joined by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names()))
      ->type_name("LIST");
}

CLI::Option* add_out(CLI::App& command, Output& output, const std::string& name) {
  std::vector<std::string> endings;
  for (const report::Format& format : report::formats()) endings.push_back(format.extension.substr(1));
  return command
      .add_option(
          "--out", output.out,
          fmt::format("Write each format to DIR/{}.<{}> instead of printing it", name, config::join(endings, "|")))
      ->type_name("DIR");
}

void prepare(const Output& output) {
  if (!output.out.empty()) make_folder(output.out);
}

void write(const report::Document& document, const Output& output, const std::string& stem) {
  for (const std::string& name : output.formats.empty() ? std::vector{names().front()} : output.formats) {
    const report::Format& format = report::format(name);
    if (output.out.empty()) {
      fmt::print("{}", format.write(document));
    } else {
      write_file(std::filesystem::path(output.out) / (stem + format.extension), format.write(document));
    }
  }
}

}  // namespace moire::cli
