// Writes files for commands.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "sim/process/output_file.hpp"

namespace moire::cli {

// Writes the file and reports it on stderr. Throws core::RunFailure if the file cannot be written.
void write_file(const std::filesystem::path& path, const std::string& text);
// The same for a file that was opened before the simulation, so that a path that cannot be written fails early.
void write_file(process::OutputFile& file, const std::string& text);

// Creates the folder, or throws core::RunFailure. Commands call this before the simulation, so that they fail early.
void make_folder(const std::string& folder);

// Returns a validator for options that name an output file or folder: it refuses an empty name.
CLI::Validator a_name();

}  // namespace moire::cli
