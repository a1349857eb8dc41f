#include "app/cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "app/cli/files.hpp"
#include "sim/config/suggest.hpp"
#include "sim/process/standard_streams.hpp"

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
  return command.add_option("--format", output.formats, help + config::join(list) + ", or several separated by commas")
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
      ->check(a_name())
      ->type_name("DIR");
}

Destination::Destination(const Output& output, const std::string& stem) {
  if (!output.out.empty()) make_folder(output.out);
  for (const std::string& name : output.formats.empty() ? std::vector{names().front()} : output.formats) {
    const report::Format& format = report::format(name);
    if (output.out.empty()) {
      targets_.push_back({&format, nullptr});
      continue;
    }
    const auto same = [&format](const Target& other) { return other.format == &format; };
    if (std::any_of(targets_.begin(), targets_.end(), same)) continue;
    add(format, std::filesystem::path(output.out) / (stem + format.extension));
  }
}

void Destination::add(const report::Format& format, const std::filesystem::path& file) {
  targets_.push_back({&format, std::make_unique<process::OutputFile>(file)});
}

void Destination::write(const report::Document& document) {
  std::exception_ptr failure;
  for (const Target& target : targets_) {
    try {
      const std::string text = target.format->write(document);
      if (target.file) {
        write_file(*target.file, text);
      } else {
        process::print(text);
      }
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace moire::cli
