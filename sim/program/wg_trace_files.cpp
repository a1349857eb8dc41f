#include "sim/program/wg_trace_files.hpp"

#include "sim/program/wg_trace_reader.hpp"

namespace moire::program {

std::shared_ptr<const WgTrace> WgTraceFiles::read(const std::filesystem::path& file, config::Diagnostics& diagnostics) {
  const auto [at, fresh] = known_.try_emplace(file.lexically_normal());
  Known& known = at->second;
  if (fresh) {
    if (auto reader = WgTraceReader::open(file, known.errors)) {
      auto trace = std::make_shared<WgTrace>();
      trace->header = reader->header();
      for (WgTraceRow row; reader->next(row);) trace->rows.push_back(row);
      if (reader->ok()) known.trace = std::move(trace);
    }
  }
  for (const config::Diagnostic& error : known.errors.sorted()) {
    diagnostics.error(error.place, error.what, error.remedy);
  }
  return known.trace;
}

}  // namespace moire::program
