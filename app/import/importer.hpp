// An importer converts a file of another tool. It describes itself in its own file: the name of its command, what it
// reads and makes, its options, and the function that converts a file. importers.cpp lists all importers; `moire
// import` has a command for each.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::importing {

struct Imported {
  std::string yaml = {};
  std::vector<std::string> notes = {};  // what the result lacks or changes compared with the file; also in the YAML
  std::string table = {};               // printed for people; if not empty, the YAML goes to --out only
};

struct Option {
  std::string name;  // "--gpu"
  std::string type;  // what the help shows for its value: "FILE"
  std::string meaning;
  std::vector<std::string> choices{};  // empty: any text
};
using Given = std::map<std::string, std::string>;  // the options that the user gave, --out included: name to value

struct Importer {
  std::string name;
  std::string meaning;
  std::string file;  // help text of the argument FILE, the file that the importer reads
  std::vector<Option> options;
  std::string out;  // help text of the option --out
  // Converts a file. Paths in the result are relative to `out_folder`. Returns nothing and reports errors if the file
  // cannot be converted.
  std::optional<Imported> (*run)(const std::string& file, const Given& given, const std::filesystem::path& out_folder,
                                 config::Diagnostics& diagnostics);
};

Importer nccl_topo_importer();
Importer tensor_importer();

std::vector<Importer> importers();

}  // namespace moire::importing
