#include "sim/program/wg_trace_reader.hpp"

#include "sim/formats/file.hpp"
#include "sim/program/wg_trace_checks.hpp"
#include "sim/program/wg_trace_header.hpp"
#include "sim/program/wg_trace_rows.hpp"

namespace moire::program {

struct WgTraceReader::State {
  State(std::unique_ptr<std::istream> in, bool compressed, const std::string& name, config::Diagnostics& diagnostics)
      : lines(std::move(in), compressed, wg_trace_longest_line),
        report(name, diagnostics, Complaints::Beyond::unread) {}

  formats::Lines lines;
  Complaints report;
  WgTraceHeader header;
  WgTracePlaces places;
  WgTraceChecks checks;
  bool ended = false;
};

WgTraceReader::WgTraceReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
WgTraceReader::WgTraceReader(WgTraceReader&&) noexcept = default;
WgTraceReader& WgTraceReader::operator=(WgTraceReader&&) noexcept = default;
WgTraceReader::~WgTraceReader() = default;

std::optional<WgTraceReader> WgTraceReader::open(const std::filesystem::path& path, config::Diagnostics& diagnostics) {
  auto file = formats::open_file({.file = path, .remedy = "name a WG trace (.csv or .csv.zst)"}, diagnostics);
  if (!file) return std::nullopt;
  return from(std::move(file), path.extension() == ".zst", path.string(), diagnostics);
}

std::optional<WgTraceReader> WgTraceReader::from(std::unique_ptr<std::istream> in, bool compressed, std::string name,
                                                 config::Diagnostics& diagnostics) {
  auto state = std::make_unique<State>(std::move(in), compressed, name, diagnostics);
  if (!read_header(state->lines, state->report, state->header, state->places)) return std::nullopt;
  state->checks = WgTraceChecks(state->header.version);
  return WgTraceReader(std::move(state));
}

const WgTraceHeader& WgTraceReader::header() const { return state_->header; }
bool WgTraceReader::ok() const { return state_->report.ok(); }
std::int64_t WgTraceReader::line() const { return state_->lines.number(); }

bool WgTraceReader::next(WgTraceRow& row) {
  State& s = *state_;
  std::string_view text;
  while (!s.report.stopped() && !s.ended) {
    if (!next_line(s.lines, s.report, text)) {
      s.ended = true;
      s.checks.finish(s.header, s.places, s.lines.number() + 1, s.report);
      break;
    }
    WgTraceFieldColumns columns;
    const std::int64_t line = s.lines.number();
    if (parse_row(text, s.header.version, line, row, columns, s.report) &&
        check_row(row, s.header, line, columns, s.report) && s.checks.row(row, line, columns, s.report)) {
      return true;
    }
  }
  return false;
}

}  // namespace moire::program
