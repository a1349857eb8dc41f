// What an importer says of itself, once, in a file of its own: the name of its command, what it makes of what, its
// options, and how it does it. importers.cpp lists them; `moire import` has a command for each.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::importing {

struct Imported {
  std::string yaml;
  std::vector<std::string> notes;  // what the result does not say, or says otherwise than the file; also in the YAML
};

struct Option {
  std::string name;  // "--gpu"
  std::string type;  // of its value, for the help: "FILE"
  std::string meaning;
  std::vector<std::string> choices{};  // none: any text
};
using Given = std::map<std::string, std::string>;  // options that were given, by name

struct Importer {
  std::string name;
  std::string meaning;
  std::string file;  // what it reads
  std::vector<Option> options;
  // Paths in the result start at `out_folder`. Nothing, and the reasons, where nothing can be made of the file.
  std::optional<Imported> (*run)(const std::string& file, const Given& given, const std::filesystem::path& out_folder,
                                 config::Diagnostics& diagnostics);
};

Importer nccl_topo_importer();

std::vector<Importer> importers();

}  // namespace moire::importing
