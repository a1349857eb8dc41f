// A cache of WG traces in memory. Each file is parsed once, however many programs replay it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "sim/config/diagnostics.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

struct WgTrace {
  WgTraceHeader header;
  std::vector<WgTraceRow> rows;
};

class WgTraceFiles {
 public:
  // Returns the trace in `file`, or null if the file is not a valid trace. Every call for an invalid file adds the
  // file's errors to `diagnostics`.
  std::shared_ptr<const WgTrace> read(const std::filesystem::path& file, config::Diagnostics& diagnostics);
  std::size_t parsed() const { return known_.size(); }  // number of files parsed

 private:
  struct Known {
    std::shared_ptr<const WgTrace> trace;
    config::Diagnostics errors;
  };
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace moire::program
