#include "sim/program/wg_trace_reader.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "sim/program/wg_trace_checks.hpp"
#include "sim/program/wg_trace_header.hpp"
#include "sim/program/wg_trace_lines.hpp"
#include "sim/program/wg_trace_report.hpp"
#include "sim/program/wg_trace_rows.hpp"

namespace moire::program {

struct WgTraceReader::State {
  State(std::unique_ptr<std::istream> in, bool compressed, std::string name, config::Diagnostics& diagnostics)
      : lines(std::move(in), compressed), report(std::move(name), diagnostics) {}

  WgTraceLines lines;
  WgTraceReport report;
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
  WgTraceReport report(path.string(), diagnostics);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    report.error(0, 0, "this is a directory", "name a WG trace in it (.csv or .csv.zst)");
    return std::nullopt;
  }
  errno = 0;
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    report.error(0, 0, std::string("the file cannot be opened: ") + std::strerror(errno),
                 "check its name and permissions");
    return std::nullopt;
  }
  return from(std::move(file), path.extension() == ".zst", path.string(), diagnostics);
}

std::optional<WgTraceReader> WgTraceReader::from(std::unique_ptr<std::istream> in, bool compressed, std::string name,
                                                 config::Diagnostics& diagnostics) {
  auto state = std::make_unique<State>(std::move(in), compressed, std::move(name), diagnostics);
  if (!read_header(state->lines, state->report, state->header, state->places)) return std::nullopt;
  return WgTraceReader(std::move(state));
}

const WgTraceHeader& WgTraceReader::header() const { return state_->header; }
bool WgTraceReader::ok() const { return state_->report.clean(); }
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
    if (parse_row(text, line, row, columns, s.report) && check_row(row, s.header, line, columns, s.report) &&
        s.checks.row(row, line, columns, s.report)) {
      return true;
    }
  }
  return false;
}

}  // namespace moire::program
