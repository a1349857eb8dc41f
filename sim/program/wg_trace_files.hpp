// WG traces in memory, each file parsed once however many programs replay it.
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
  // Null, and the errors in `diagnostics` each time it is asked for, where the file is not a whole trace.
  std::shared_ptr<const WgTrace> read(const std::filesystem::path& file, config::Diagnostics& diagnostics);
  std::size_t parsed() const { return known_.size(); }  // files

 private:
  struct Known {
    std::shared_ptr<const WgTrace> trace;
    config::Diagnostics errors;
  };
  std::map<std::filesystem::path, Known> known_;
};

}  // namespace moire::program
