#include "sim/program/wg_trace_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "sim/config/suggest.hpp"
#include "sim/formats/csv.hpp"
#include "sim/formats/number.hpp"

namespace moire::program {

namespace {

using config::in_quotes;
using formats::trimmed;

struct RequiredKey {
  std::string_view name;
  // The header field that receives the value.
  std::variant<std::string WgTraceHeader::*, std::uint32_t WgTraceHeader::*, std::int64_t WgTraceHeader::*> member;
  std::int64_t least = 0;
  std::int64_t most = 0;
  WgTracePlaces::At WgTracePlaces::*place = nullptr;
};

// A resident workgroup needs threads and bytes in flight; without them it would never advance.
const std::array<RequiredKey, 8> required_keys = {{
    {"ranks", &WgTraceHeader::ranks, 1, wg_trace_most_ranks, &WgTracePlaces::ranks},
    {"kernel", &WgTraceHeader::kernel},
    {"wgs_per_rank", &WgTraceHeader::wgs_per_rank, 1, wg_trace_most_wgs},
    {"threads_per_wg", &WgTraceHeader::threads_per_wg, 1, INT32_MAX},
    {"registers_per_thread", &WgTraceHeader::registers_per_thread, 1, INT32_MAX},
    {"lds_bytes_per_wg", &WgTraceHeader::lds_bytes_per_wg, 0, wg_trace_most_bytes},
    {"bytes_in_flight_per_wg", &WgTraceHeader::bytes_in_flight_per_wg, 1, wg_trace_most_bytes},
    {"recorded_end_ns", &WgTraceHeader::recorded_end_ns, 0, wg_trace_latest_ns, &WgTracePlaces::recorded_end_ns},
}};

const RequiredKey* find(std::string_view name) {
  const auto key =
      std::find_if(required_keys.begin(), required_keys.end(), [name](const RequiredKey& k) { return k.name == name; });
  return key == required_keys.end() ? nullptr : &*key;
}

std::size_t column_of(std::string_view part, std::string_view line) {
  return static_cast<std::size_t>(part.data() - line.data()) + 1;
}

bool read_magic(std::string_view line, Complaints& report, int& version_read) {
  const std::string right = fmt::format("line 1 must be '{} {}'", wg_trace_magic, wg_trace_version);
  if (line.ends_with('\r')) {
    report.fatal(1, line.size(), "the line ends in a carriage return", "save the file with Unix line ends");
    return false;
  }
  if (!line.starts_with(wg_trace_magic)) {
    report.fatal(1, 1, fmt::format("the file is not a WG trace: it begins with {}", in_quotes(line)), right);
    return false;
  }
  const std::string_view text = trimmed(line.substr(wg_trace_magic.size()));
  const int version = formats::number_in<int>(text).value_or(0);
  const std::size_t col = text.empty() ? line.size() + 1 : column_of(text, line);
  if (version < 1) {
    report.fatal(1, col, fmt::format("{} is not a version of the format", in_quotes(text)), right);
    return false;
  }
  if (version > wg_trace_version) {
    report.fatal(
        1, col,
        fmt::format("version {} is newer than version {}, the newest that this Moire reads", version, wg_trace_version),
        fmt::format("update Moire, or write the trace as version {}", wg_trace_version));
    return false;
  }
  version_read = version;
  return true;
}

class Metadata {
 public:
  Metadata(Complaints& report, WgTraceHeader& header, WgTracePlaces& places)
      : report_(report), header_(header), places_(places) {}

  void read(std::string_view line, std::int64_t number) {
    const std::size_t colon = line.find(':');
    const std::string_view name = trimmed(line.substr(1, std::min(colon, line.size()) - 1));
    if (colon == std::string_view::npos || name.empty()) {
      report_.error(number, 1, fmt::format("{} is not metadata", in_quotes(line)), "write '# key: value'");
      return;
    }
    const std::string_view value = trimmed(line.substr(colon + 1));
    const WgTracePlaces::At at{number, value.empty() ? line.size() + 1 : column_of(value, line)};
    const auto [first, fresh] = lines_.emplace(std::string(name), number);
    if (!fresh) {
      report_.error(number, column_of(name, line),
                    fmt::format("key {} is also on line {}", in_quotes(name), first->second), "keep one of them");
      return;
    }
    if (const RequiredKey* key = find(name)) {
      if (key->place) places_.*key->place = at;
      store(*key, value, at);
    } else {
      header_.provenance.emplace_back(std::string(name), std::string(value));
    }
  }

  // Reports every missing required key; `number` is the line where the metadata ended.
  void finish(std::int64_t number) {
    for (const RequiredKey& key : required_keys) {
      if (lines_.contains(key.name)) continue;
      std::vector<std::string> others;
      for (const auto& [name, value] : header_.provenance) others.push_back(name);
      const auto near = config::nearest(key.name, others);
      report_.error(near ? lines_.find(*near)->second : number, 1,
                    fmt::format("metadata key '{}' is missing", key.name),
                    near ? fmt::format("is '{}' meant to be this key?", *near)
                         : fmt::format("write '# {}: value' above the header row", key.name));
    }
  }

  std::size_t size() const { return lines_.size(); }

 private:
  void store(const RequiredKey& key, std::string_view value, WgTracePlaces::At at) {
    if (const auto* text = std::get_if<std::string WgTraceHeader::*>(&key.member)) {
      if (value.empty())
        report_.error(at.line, at.col, fmt::format("'{}' is empty", key.name), "name what was recorded");
      header_.** text = value;
      return;
    }
    std::int64_t number = 0;
    const formats::Digits digits = formats::parse_number(value, number, key.least, key.most);
    if (digits == formats::Digits::none) {
      report_.error(at.line, at.col, fmt::format("'{}' is {}, not an integer", key.name, in_quotes(value)),
                    fmt::format("write an integer from {} to {}, without a unit", key.least, key.most));
    } else if (digits == formats::Digits::out_of_range) {
      report_.error(at.line, at.col, fmt::format("'{}' is {}, out of range", key.name, in_quotes(value)),
                    fmt::format("it can be {} to {}", key.least, key.most));
    } else if (const auto* small = std::get_if<std::uint32_t WgTraceHeader::*>(&key.member)) {
      header_.** small = static_cast<std::uint32_t>(number);
    } else {
      header_.*std::get<std::int64_t WgTraceHeader::*>(key.member) = number;
    }
  }

  Complaints& report_;
  WgTraceHeader& header_;
  WgTracePlaces& places_;
  std::map<std::string, std::int64_t, std::less<>> lines_;  // line of each key
};

void read_columns(std::string_view line, int version, std::int64_t number, Complaints& report) {
  const std::string right = wg_trace_header_row(version);
  if (line == right) return;
  const std::span<const WgTraceRow::Kind> kinds = wg_trace_kinds_of(version);
  if (std::any_of(kinds.begin(), kinds.end(),
                  [&](WgTraceRow::Kind kind) { return line.starts_with(std::string(name_of(kind)) + ","); })) {
    report.fatal(number, 1, "the row that names the columns is missing",
                 fmt::format("write '{}' above the rows", right));
    return;
  }
  const std::size_t before = report.errors();
  std::vector<std::string> known;
  for (const WgTraceColumn column : wg_trace_columns_of(version)) known.emplace_back(name_of(column));
  std::set<std::string_view> seen;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t stop = std::min(line.find(',', at), line.size());
    const std::string_view name = line.substr(at, stop - at);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      report.error(number, at + 1, fmt::format("unknown column {}", in_quotes(name)),
                   config::suggestion(name, known, "columns"));
    } else if (!seen.insert(name).second) {
      report.error(number, at + 1, fmt::format("column '{}' appears twice", name), "name each column once");
    }
    at = stop + 1;
  }
  for (const std::string& name : known) {
    if (seen.contains(name)) continue;
    report.error(number, line.size() + 1, fmt::format("column '{}' is missing", name),
                 fmt::format("write '{}'", right));
  }
  if (report.errors() == before) {
    report.error(number, 1, "the columns are in another order", fmt::format("write '{}'", right));
  }
}

}  // namespace

bool next_line(formats::Lines& lines, Complaints& report, std::string_view& line) {
  using Problem = formats::ZstdDecoder::Problem;
  switch (lines.next(line)) {
    case formats::Lines::Status::line:
      return true;
    case formats::Lines::Status::end:
      return false;
    case formats::Lines::Status::cut_off:
      report.fatal(lines.number(), line.size() + 1, "the last line does not end in a newline",
                   "the file looks cut off; copy or record it again");
      return false;
    case formats::Lines::Status::too_long:
      report.fatal(lines.number(), wg_trace_longest_line + 1,
                   fmt::format("the line is longer than {} bytes", wg_trace_longest_line),
                   "shorten it; no row needs that much");
      return false;
    case formats::Lines::Status::compressed:
      report.fatal(1, 1, "the file is zstd-compressed", "let its name end in .csv.zst");
      return false;
    case formats::Lines::Status::failed:
      break;
  }
  const std::int64_t at = lines.number();
  switch (lines.problem()) {
    case Problem::not_zstd:
      report.fatal(at, 1, "the file has no zstd data", "compress the file, or let its name end in .csv");
      break;
    case Problem::truncated:
      report.fatal(at, 1, "the compressed data end in the middle of a frame",
                   "the file looks cut off; copy or record it again");
      break;
    case Problem::trailing_garbage:
      report.fatal(at, 1, "other data follow the compressed data", "remove what is not zstd from the end of the file");
      break;
    case Problem::corrupt:
      report.fatal(at, 1, fmt::format("the compressed data are damaged ({})", lines.detail()),
                   "copy or record the file again");
      break;
    case Problem::unreadable:
    case Problem::none:
      report.fatal(at, 1, "the file cannot be read to its end", "check the disk or the connection");
      break;
  }
  return false;
}

bool read_header(formats::Lines& lines, Complaints& report, WgTraceHeader& header, WgTracePlaces& places) {
  std::string_view line;
  if (!next_line(lines, report, line)) {
    if (report.ok()) {
      report.fatal(1, 1, "the file is empty",
                   fmt::format("a WG trace starts with '{} {}'", wg_trace_magic, wg_trace_version));
    }
    return false;
  }
  if (!read_magic(line, report, header.version)) return false;
  Metadata metadata(report, header, places);
  bool columns = false;
  while (!columns && next_line(lines, report, line)) {
    columns = !line.starts_with('#');
    if (columns) {
      read_columns(line, header.version, lines.number(), report);
    } else if (metadata.size() < wg_trace_most_metadata) {
      metadata.read(line, lines.number());
    } else {
      report.fatal(lines.number(), 1, fmt::format("the trace has more than {} metadata lines", wg_trace_most_metadata),
                   "keep long provenance in a file of its own");
    }
    if (report.stopped()) return false;
  }
  if (report.stopped()) return false;
  metadata.finish(lines.number());
  if (!columns) {
    report.error(lines.number(), 1, "the file ends before the row that names the columns",
                 fmt::format("write '{}', then the rows", wg_trace_header_row(header.version)));
  }
  return report.ok();
}

std::vector<std::pair<std::string, std::string>> required_metadata(const WgTraceHeader& header) {
  std::vector<std::pair<std::string, std::string>> out;
  out.reserve(required_keys.size());
  for (const RequiredKey& key : required_keys) {
    out.emplace_back(std::string(key.name),
                     std::visit([&header](auto member) { return fmt::format("{}", header.*member); }, key.member));
  }
  return out;
}

}  // namespace moire::program
