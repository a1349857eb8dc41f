// Files that commands write.
#pragma once

#include <filesystem>
#include <string>

namespace moire::cli {

// Throws core::RunFailure.
void write_quietly(const std::filesystem::path& path, const std::string& text);
// The same, and says on stderr what was written.
void write_file(const std::filesystem::path& path, const std::string& text);

// Before the simulation, so that nobody waits for a result that cannot be kept. Throws core::RunFailure.
void make_folder(const std::string& folder);

}  // namespace moire::cli
