// libFuzzer: reads any bytes as a WG trace: as a plain file, as a compressed file, and as the text of a compressed
// file. Compression must never change the verdict. A valid trace must be the same after it is written and read again.
// An invalid trace must have an error message.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/zstd_stream.hpp"
#include "sim/program/wg_trace_reader.hpp"
#include "sim/program/wg_trace_summary.hpp"
#include "sim/program/wg_trace_writer.hpp"

namespace {

using namespace moire;

struct Reading {
  program::WgTraceHeader header;
  std::vector<program::WgTraceRow> rows;
  std::string errors;

  bool operator==(const Reading&) const = default;
};

void require(bool condition) {
  if (!condition) std::abort();
}

Reading read(std::string bytes, bool compressed) {
  // A small compressed input may expand to a very long valid trace. Rows beyond this number are not read.
  constexpr std::size_t enough = 100'000;
  config::Diagnostics diagnostics;
  Reading reading;
  auto reader = program::WgTraceReader::from(std::make_unique<std::istringstream>(std::move(bytes)), compressed,
                                             "input", diagnostics);
  require(reader.has_value() == diagnostics.ok());
  if (reader) {
    reading.header = reader->header();
    program::WgTraceSummary summary;
    for (program::WgTraceRow row; reading.rows.size() < enough && reader->next(row);) {
      reading.rows.push_back(row);
      summary.add(row);
    }
    require(reader->ok() == diagnostics.ok());
    require(summary.ranks().size() <= reading.header.ranks);
  }
  require(diagnostics.size() <= 21);
  reading.errors = diagnostics.str();
  return reading;
}

std::string written(const Reading& reading, bool compressed) {
  std::stringbuf bytes;
  config::Diagnostics diagnostics;
  auto writer = program::WgTraceWriter::to(std::make_unique<std::ostream>(&bytes), compressed, "output", reading.header,
                                           diagnostics);
  require(writer.has_value());
  for (const program::WgTraceRow& row : reading.rows) writer->add(row);
  require(writer->finish());
  return bytes.str();
}

std::string compressed(const std::string& text) {
  std::ostringstream out;
  formats::ZstdEncoder encoder(out);
  encoder.write(text);
  encoder.finish();
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";
  // Compression costs a hundred times as much as parsing a small text, so only one input in 64, chosen by its bytes, is
  // tested with it.
  const bool thorough = std::hash<std::string>{}(bytes) % 64 == 0;
  if (thorough || bytes.starts_with(zstd_magic)) read(bytes, true);
  const Reading plain = read(bytes, false);
  if (thorough && !bytes.starts_with(zstd_magic)) require(read(compressed(bytes), true) == plain);
  if (plain.errors.empty()) require(read(written(plain, false), false) == plain);
  if (plain.errors.empty() && thorough) require(read(written(plain, true), true) == plain);
  return 0;
}
