#include "sim/program/wg_trace_writer.hpp"

#include <fmt/format.h>

#include <iterator>
#include <sstream>

#include "sim/core/failure.hpp"
#include "sim/formats/zstd_stream.hpp"
#include "sim/process/output_file.hpp"
#include "sim/program/wg_trace_checks.hpp"
#include "sim/program/wg_trace_header.hpp"
#include "sim/program/wg_trace_rows.hpp"

namespace moire::program {

namespace {

constexpr std::size_t block_size = 256UL * 1024;

std::string metadata_text(const WgTraceHeader& header) {
  std::string text = fmt::format("{} {}\n", wg_trace_magic, header.version);
  auto pairs = required_metadata(header);
  pairs.insert(pairs.end(), header.provenance.begin(), header.provenance.end());
  for (const auto& [key, value] : pairs) text += fmt::format("# {}: {}\n", key, value);
  return text + wg_trace_header_row(header.version) + "\n";
}

std::int64_t number_of(const WgTraceRow& row, WgTraceColumn column) {
  switch (column) {
    case WgTraceColumn::rank:
      return row.rank;
    case WgTraceColumn::wg:
      return row.wg;
    case WgTraceColumn::task:
      return row.task;
    case WgTraceColumn::cu:
      return row.cu;
    case WgTraceColumn::peer:
      return row.peer;
    case WgTraceColumn::start_ns:
      return row.start_ns;
    case WgTraceColumn::compute_end_ns:
      return row.compute_end_ns;
    case WgTraceColumn::end_ns:
      return row.end_ns;
    case WgTraceColumn::read_bytes:
      return row.read_bytes;
    case WgTraceColumn::flop:
      return row.flop;
    case WgTraceColumn::store_bytes:
      return row.store_bytes;
    case WgTraceColumn::bytes:
      return row.bytes;
    case WgTraceColumn::flag:
      return row.flag;
    case WgTraceColumn::count:
      return row.count;
    case WgTraceColumn::kind:
    case WgTraceColumn::unit:
      break;
  }
  return 0;
}

}  // namespace

struct WgTraceWriter::State {
  State(std::unique_ptr<std::ostream> to, bool compressed, const std::string& name, config::Diagnostics& diagnostics)
      : out(std::move(to)), report(name, diagnostics, Complaints::Beyond::unread) {
    if (compressed) encoder.emplace(*out);
  }

  void flush() {
    if (encoder) {
      encoder->write(text);
    } else {
      out->write(text.data(), static_cast<std::streamsize>(text.size()));
    }
    text.clear();
  }

  std::unique_ptr<process::OutputFile> file;  // destination of `out`; null if to() was given a stream
  std::unique_ptr<std::ostream> out;
  std::optional<formats::ZstdEncoder> encoder;
  std::string text;  // not yet written
  Complaints report;
  WgTraceHeader header;
  WgTracePlaces places;
  WgTraceChecks checks;
  std::int64_t lines = 0;
};

WgTraceWriter::WgTraceWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
WgTraceWriter::WgTraceWriter(WgTraceWriter&&) noexcept = default;
WgTraceWriter& WgTraceWriter::operator=(WgTraceWriter&&) noexcept = default;
WgTraceWriter::~WgTraceWriter() = default;

std::optional<WgTraceWriter> WgTraceWriter::create(const std::filesystem::path& path, const WgTraceHeader& header,
                                                   config::Diagnostics& diagnostics) {
  std::unique_ptr<process::OutputFile> file;
  try {
    file = std::make_unique<process::OutputFile>(path);
  } catch (const core::RunFailure& problem) {
    diagnostics.error({}, problem.what(), "name a file in a folder that can be written");
    return std::nullopt;
  }
  auto out = std::make_unique<std::ostream>(file->stream().rdbuf());
  auto writer = to(std::move(out), path.extension() == ".zst", path.string(), header, diagnostics);
  if (writer) writer->state_->file = std::move(file);
  return writer;
}

std::optional<WgTraceWriter> WgTraceWriter::to(std::unique_ptr<std::ostream> out, bool compressed, std::string name,
                                               const WgTraceHeader& header, config::Diagnostics& diagnostics) {
  auto state = std::make_unique<State>(std::move(out), compressed, name, diagnostics);
  state->text = metadata_text(header);
  // The reader checks the metadata. For example, a line end within a value would split its line in two.
  formats::Lines lines(std::make_unique<std::istringstream>(state->text), false, wg_trace_longest_line);
  if (!read_header(lines, state->report, state->header, state->places)) return std::nullopt;
  state->lines = lines.number();
  state->checks = WgTraceChecks(header.version);
  if (state->header != header) {
    state->report.error(
        0, 0, "a metadata key or value cannot be written so that it reads back the same",
        "a key must not contain ':', and neither key nor value may contain a line end or begin or end with a blank");
    return std::nullopt;
  }
  return WgTraceWriter(std::move(state));
}

void WgTraceWriter::add(const WgTraceRow& row) {
  State& s = *state_;
  const std::size_t begin = s.text.size();
  for (const WgTraceColumn column : wg_trace_columns_of(s.header.version)) {
    if (s.text.size() > begin) s.text += ',';
    if (column == WgTraceColumn::kind) {
      s.text += name_of(row.kind);
    } else if (column == WgTraceColumn::unit) {
      s.text += name_of(row.unit);
    } else {
      const fmt::format_int digits(number_of(row, column));
      s.text.append(digits.data(), digits.size());
    }
  }
  ++s.lines;
  WgTraceRow back;
  WgTraceFieldColumns columns;
  if (parse_row(std::string_view(s.text).substr(begin), s.header.version, s.lines, back, columns, s.report) &&
      check_row(back, s.header, s.lines, columns, s.report)) {
    s.checks.row(back, s.lines, columns, s.report);
  }
  s.text += '\n';
  if (s.text.size() >= block_size) s.flush();
}

bool WgTraceWriter::finish() {
  State& s = *state_;
  s.checks.finish(s.header, s.places, s.lines + 1, s.report);
  s.flush();
  if (s.encoder) s.encoder->finish();
  s.out->flush();
  if (!s.file) {
    if (!*s.out) s.report.error(0, 0, "cannot be written to its end", "is the disk full?");
  } else if (s.report.ok()) {
    try {
      s.file->commit();
    } catch (const core::RunFailure& problem) {
      s.report.error(0, 0, problem.what(), "is the disk full?");
    }
  }
  return s.report.ok();
}

}  // namespace moire::program
