// Reads a WG trace row by row, without holding the whole file in memory.
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
//   if (!reader->ok()) return 2;  // the file is not a valid trace
class WgTraceReader {
 public:
  // Opens a file and reads its metadata. A file whose name ends in .zst is decompressed. If the metadata are wrong,
  // returns nothing and adds the errors to `diagnostics`, which must outlive the reader.
  static std::optional<WgTraceReader> open(const std::filesystem::path& path, config::Diagnostics& diagnostics);
  // Does the same as open(), but reads from a stream. Messages call the stream `name`.
  static std::optional<WgTraceReader> from(std::unique_ptr<std::istream> in, bool compressed, std::string name,
                                           config::Diagnostics& diagnostics);
  WgTraceReader(WgTraceReader&&) noexcept;
  WgTraceReader& operator=(WgTraceReader&&) noexcept;
  ~WgTraceReader();

  const WgTraceHeader& header() const;

  // Reads the next row; returns false at the end. Invalid rows are reported and skipped until the limit of errors is
  // reached (Complaints::told), so that one pass finds all errors.
  bool next(WgTraceRow& row);

  bool ok() const;            // true if there was no error so far
  std::int64_t line() const;  // line of the row that next() returned last

 private:
  struct State;
  explicit WgTraceReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace moire::program
