// Files that commands write.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "sim/process/output_file.hpp"

namespace moire::cli {

// Says on stderr what was written. Throws core::RunFailure.
void write_file(const std::filesystem::path& path, const std::string& text);
// The same, of a file that was opened before the work, so that nobody waits for a result that cannot be kept.
void write_file(process::OutputFile& file, const std::string& text);

// Before the simulation. Throws core::RunFailure.
void make_folder(const std::string& folder);

// For options that name what is written: an empty name is a mistake, not nothing said.
CLI::Validator a_name();

}  // namespace moire::cli
