// Reads a WG trace as the measured side of a comparison.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/evidence/wg_compare/record.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/program/wg_trace_files.hpp"

namespace moire::wg_compare {

struct Trace {
  program::WgTraceHeader header;
  Record record;
};

// Returns nothing and reports errors if the file is not a complete trace.
std::optional<Trace> read_trace(const std::filesystem::path& file, program::WgTraceFiles& files,
                                config::Diagnostics& diagnostics);

// Turns the header's description of the operator at `path` ("program.queues.main.0.<operator>") into `--set` changes,
// so that a scenario need not repeat the sizes. Returns no changes if the header states no sizes, or if the operator
// reads none from trace headers.
std::vector<std::string> shape_sets(const program::WgTraceHeader& header, const std::string& path);

}  // namespace moire::wg_compare
