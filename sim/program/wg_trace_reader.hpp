// Reads a WG trace row by row; the file is never in memory as a whole.
#pragma once

#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "sim/config/diagnostics.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

//   auto reader = WgTraceReader::open("run.csv.zst", diagnostics);
//   if (!reader) return 2;
//   for (WgTraceRow row; reader->next(row);) use(row);
//   if (!reader->ok()) return 2;  // what was read is not a whole trace
class WgTraceReader {
 public:
  // Reads the metadata. A name that ends in .zst is zstd-compressed. Nothing, and the errors in `diagnostics`, when the
  // metadata are wrong. `diagnostics` outlives the reader.
  static std::optional<WgTraceReader> open(const std::filesystem::path& path, config::Diagnostics& diagnostics);
  // The same from any stream; `name` is what errors call it.
  static std::optional<WgTraceReader> from(std::unique_ptr<std::istream> in, bool compressed, std::string name,
                                           config::Diagnostics& diagnostics);
  WgTraceReader(WgTraceReader&&) noexcept;
  WgTraceReader& operator=(WgTraceReader&&) noexcept;
  ~WgTraceReader();

  const WgTraceHeader& header() const;

  // The next row. Wrong rows are reported and passed over, up to a limit, so that one reading tells all errors; false
  // at the end.
  bool next(WgTraceRow& row);

  bool ok() const;            // no error so far
  std::int64_t line() const;  // of the row told last

 private:
  struct State;
  explicit WgTraceReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace moire::program
