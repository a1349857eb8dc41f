// The measured side of a comparison.
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

// Nothing, and the errors in `diagnostics`, where the file is not a whole trace.
std::optional<Trace> read_trace(const std::filesystem::path& file, program::WgTraceFiles& files,
                                config::Diagnostics& diagnostics);

// What the header says of the operator at `path` ("program.queues.main.0.<operator>"), as `--set` changes of its keys,
// so that a scenario need not repeat them. Empty where the header tells no shape, or the operator takes none from it.
std::vector<std::string> shape_sets(const program::WgTraceHeader& header, const std::string& path);

}  // namespace moire::wg_compare
