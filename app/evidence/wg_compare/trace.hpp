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

// What the header says about the shape of a fused embedding + All-to-All, as `--set` changes of the operator
// `embedding_all_to_all` at `path` ("program.queues.main.0.embedding_all_to_all"), so that a scenario need not repeat
// it. Empty where the header has no `shape`.
std::vector<std::string> shape_sets(const program::WgTraceHeader& header, const std::string& path);

}  // namespace moire::wg_compare
