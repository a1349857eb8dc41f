// Reads a WG trace (a recording of what each workgroup of a kernel did) as the measured side of a comparison.
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

// Returns `--set` changes that give the operator at `path` ("program.queues.main.0.<operator>") the sizes in the
// header, so that a scenario need not repeat them. Returns no changes if the header states no sizes, or if this
// operator takes none from trace headers.
std::vector<std::string> shape_sets(const program::WgTraceHeader& header, const std::string& path);

}  // namespace moire::wg_compare
