// Writes a WG trace row by row, plain or zstd-compressed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "sim/config/diagnostics.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

// Rows must be in file order (in_order()) and agree with the header. The writer reports everything that the reader
// would refuse, with its line in the written file.
class WgTraceWriter {
 public:
  // Begins a file, which appears under its name only when finish() completes it. If the name ends in .zst, the file is
  // compressed. `diagnostics` must outlive the writer.
  static std::optional<WgTraceWriter> create(const std::filesystem::path& path, const WgTraceHeader& header,
                                             config::Diagnostics& diagnostics);
  // Does the same as create(), but writes to a stream. Messages call the stream `name`.
  static std::optional<WgTraceWriter> to(std::unique_ptr<std::ostream> out, bool compressed, std::string name,
                                         const WgTraceHeader& header, config::Diagnostics& diagnostics);
  WgTraceWriter(WgTraceWriter&&) noexcept;
  WgTraceWriter& operator=(WgTraceWriter&&) noexcept;
  ~WgTraceWriter();

  void add(const WgTraceRow& row);

  // Writes the remaining rows; returns true if the file is complete, valid and on disk.
  bool finish();

 private:
  struct State;
  explicit WgTraceWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace moire::program
