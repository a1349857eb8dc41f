// Files that commands write.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "sim/process/output_file.hpp"

namespace moire::cli {

// Writes the file and reports it on stderr. Throws core::RunFailure.
void write_file(const std::filesystem::path& path, const std::string& text);
// The same for a file that was opened before the simulation, so that a path that cannot be written fails early.
void write_file(process::OutputFile& file, const std::string& text);

// To call before the simulation. Throws core::RunFailure.
void make_folder(const std::string& folder);

// For options that name an output: refuses an empty name.
CLI::Validator a_name();

}  // namespace moire::cli
