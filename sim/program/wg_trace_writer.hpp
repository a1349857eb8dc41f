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

// Rows must come in the order of in_order() and agree with the header. What a reader would refuse is reported at the
// line where it stands in the file that is written.
class WgTraceWriter {
 public:
  // Begins the file, which is there when all of it is (finish). A name that ends in .zst is compressed. `diagnostics`
  // outlives the writer.
  static std::optional<WgTraceWriter> create(const std::filesystem::path& path, const WgTraceHeader& header,
                                             config::Diagnostics& diagnostics);
  // The same to any stream; `name` is what errors call it.
  static std::optional<WgTraceWriter> to(std::unique_ptr<std::ostream> out, bool compressed, std::string name,
                                         const WgTraceHeader& header, config::Diagnostics& diagnostics);
  WgTraceWriter(WgTraceWriter&&) noexcept;
  WgTraceWriter& operator=(WgTraceWriter&&) noexcept;
  ~WgTraceWriter();

  void add(const WgTraceRow& row);

  // Writes what is left; true when the file is whole, right and on the disk.
  bool finish();

 private:
  struct State;
  explicit WgTraceWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace moire::program
