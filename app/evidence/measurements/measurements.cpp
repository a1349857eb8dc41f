#include "app/evidence/measurements/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/config/suggest.hpp"
#include "sim/formats/complaints.hpp"
#include "sim/formats/csv.hpp"
#include "sim/formats/file.hpp"
#include "sim/formats/number.hpp"

namespace moire::measurements {

namespace {

constexpr std::string_view magic_line = "# moire-measurements 1";
constexpr std::string_view columns = "benchmark,parameters,metric,value,unit,repetitions,low,high";
constexpr std::string_view example =
    "launch,wgs=1,queue_gap,1540,ns,9,1510,1570: benchmark, parameters, metric, value, unit, repetitions, low and high";
constexpr std::array<std::string_view, 5> required = {"gpu", "gpus", "driver", "date", "command"};
constexpr std::uintmax_t largest_file = 64 << 20;
constexpr std::int64_t most_gpus = 72;  // on one node

using config::in_quotes;
using formats::Digits;
using formats::number_in;
using formats::parse_number;
using Cell = formats::CsvField;

std::vector<Cell> words(const Cell& all) {
  std::vector<Cell> found;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(all.text.find(' ', begin), all.text.size());
    found.push_back({all.text.substr(begin, end - begin), all.col + begin});
    if (end == all.text.size()) return found;
    begin = end + 1;
  }
}

class Reader {
 public:
  Reader(const std::string& name, config::Diagnostics& diagnostics, const std::vector<Benchmark>& known)
      : complaints_(name, diagnostics, formats::Complaints::Beyond::unread), known_(known) {
    out_.source = complaints_.source();
  }

  std::optional<Measurements> read(std::string_view text) {
    if (text.empty()) {
      fail(0, "the file is empty", fmt::format("its first line is '{}'", magic_line));
      return std::nullopt;
    }
    while (!text.empty() && !complaints_.stopped()) {
      ++line_;
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) {
        fail(1, "the last line has no line end: the file may be cut off", "end each line with a newline");
        break;
      }
      read_line(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    if (!complaints_.stopped()) finish();
    if (!complaints_.ok()) return std::nullopt;
    return std::move(out_);
  }

 private:
  enum class State { magic, header, rows };

  // Reports an error in the current line and returns false. If `col` is 0, the error concerns the file as a whole.
  bool fail(std::size_t col, std::string what, std::string remedy) {
    complaints_.error(col == 0 ? 0 : line_, col, std::move(what), std::move(remedy));
    return false;
  }
  void fatal(std::size_t col, std::string what, std::string remedy) {
    complaints_.fatal(line_, col, std::move(what), std::move(remedy));
  }

  void read_line(std::string_view line) {
    if (line.ends_with('\r')) {
      return fatal(line.size(), "the line ends in a carriage return", "write lines that end in \\n");
    }
    if (state_ == State::magic) {
      if (line != magic_line)
        return fatal(1, fmt::format("this is {}, not a measurements file", in_quotes(line)), first_line());
      state_ = State::header;
    } else if (state_ == State::header && line.starts_with('#')) {
      read_header(line);
    } else if (state_ == State::header) {
      end_header();
      if (line != columns) {
        return fatal(1, fmt::format("the columns are {}", in_quotes(line)), fmt::format("write {}", columns));
      }
      state_ = State::rows;
    } else {
      read_row(line);
    }
  }

  static std::string first_line() { return fmt::format("the first line must be '{}'", magic_line); }

  void read_header(std::string_view line) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("# ") || colon == std::string_view::npos || colon == 2 || colon + 2 == line.size()) {
      fail(1, fmt::format("{} is not a header line", in_quotes(line)), "write '# key: value'");
      return;
    }
    const std::string key(line.substr(2, colon - 2));
    const std::string value(line.substr(colon + 2));
    for (const auto& [other, text] : out_.header) {
      if (other == key) {
        fail(3, fmt::format("the header states {} twice", in_quotes(key)), "write each key once");
        return;
      }
    }
    out_.header.emplace_back(key, value);
    if (key == "gpu") out_.gpu = value;
    if (key == "driver") out_.driver = value;
    if (key == "date") out_.date = value;
    if (key == "gpus") {
      if (parse_number(value, out_.gpus, 1, most_gpus) != Digits::good) {
        fail(colon + 3, fmt::format("gpus is {}", in_quotes(value)), fmt::format("write 1 to {}", most_gpus));
      }
    }
  }

  void end_header() {
    for (const std::string_view key : required) {
      const bool there =
          std::any_of(out_.header.begin(), out_.header.end(), [key](const auto& entry) { return entry.first == key; });
      if (!there) fail(1, fmt::format("the header has no {}", key), fmt::format("write '# {}: ...' above", key));
    }
  }

  void read_row(std::string_view line) {
    std::size_t unclosed = 0;
    const std::vector<Cell> cells = formats::csv_fields(line, unclosed);
    if (line.starts_with('#')) {
      fail(1, "there is a header line between the rows", "put it at the top of the file");
    } else if (unclosed != 0 || cells.size() != 8) {
      fail(1, fmt::format("the row has {} field{}, not 8", cells.size(), cells.size() == 1 ? "" : "s"),
           fmt::format("write a row like {}", example));
    } else {
      MeasuredValue row;
      row.line = line_;
      const std::size_t before = complaints_.errors();
      const Benchmark* benchmark = read_benchmark(cells[0], row);
      read_parameters(cells[1], benchmark, row);
      read_metric(cells[2], cells[4], benchmark, row);
      read_numbers(cells, row);
      if (complaints_.errors() == before) keep(std::move(row));
    }
  }

  const Benchmark* read_benchmark(const Cell& cell, MeasuredValue& row) {
    row.benchmark = cell.text;
    const auto it = std::find_if(known_.begin(), known_.end(), [&](const Benchmark& b) { return b.name == cell.text; });
    if (it != known_.end()) return &*it;
    std::vector<std::string> names;
    for (const Benchmark& benchmark : known_) names.push_back(benchmark.name);
    fail(cell.col, fmt::format("unknown benchmark {}", in_quotes(cell.text)),
         config::suggestion(cell.text, names, "known benchmarks"));
    return nullptr;
  }

  void read_parameters(const Cell& all, const Benchmark* benchmark, MeasuredValue& row) {
    bool good = true;
    if (!all.text.empty()) {
      for (const Cell& cell : words(all)) good = read_parameter(cell, row) && good;
    }
    if (benchmark && good) check_names(all, *benchmark, row.parameters);
  }

  bool read_parameter(const Cell& cell, MeasuredValue& row) {
    const std::size_t equals = cell.text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(cell.col, fmt::format("the parameter {} is not 'name=number'", in_quotes(cell.text)),
                  "write parameters like wgs=132 wgs_per_sm=1, with one space in between");
    }
    const std::string name(cell.text.substr(0, equals));
    const std::string digits = cell.text.substr(equals + 1);
    const auto value = number_in<double>(digits);
    if (!value || *value < 0) {
      return fail(cell.col + equals + 1, fmt::format("the parameter {} is {}", in_quotes(name), in_quotes(digits)),
                  "write a number, 0 or more, without a unit");
    }
    if (!row.parameters.emplace(name, *value).second) {
      return fail(cell.col, fmt::format("the parameter {} appears twice", in_quotes(name)), "state it once");
    }
    return true;
  }

  void check_names(const Cell& cell, const Benchmark& benchmark, const Parameters& parameters) {
    std::set<std::string> given;
    for (const auto& [name, value] : parameters) given.insert(name);
    std::vector<std::string> sets;
    std::vector<std::string> names;
    for (const auto& set : benchmark.parameters) {
      if (given == std::set<std::string>(set.begin(), set.end())) return;
      sets.push_back(set.empty() ? "no parameters" : config::join(set, " "));
      names.insert(names.end(), set.begin(), set.end());
    }
    if (sets.empty()) {
      if (given.empty()) return;
      sets.emplace_back("no parameters");
    }
    const std::string takes = fmt::format("{} takes {}", benchmark.name, config::join(sets, ", or "));
    for (const std::string& name : given) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      fail(cell.col, fmt::format("unknown parameter {} of {}", in_quotes(name), benchmark.name), takes);
      return;
    }
    fail(cell.col, fmt::format("the parameters of {} are {}", benchmark.name, in_quotes(cell.text)), takes);
  }

  void read_metric(const Cell& cell, const Cell& unit, const Benchmark* benchmark, MeasuredValue& row) {
    row.metric = cell.text;
    row.unit = unit.text;
    if (!benchmark) return;
    std::vector<std::string> names;
    for (const auto& metric : benchmark->metrics) {
      if (metric.name != cell.text) {
        names.push_back(metric.name);
      } else if (metric.unit == unit.text) {
        return;
      } else {
        fail(unit.col, fmt::format("the unit of {} is {}", cell.text, in_quotes(unit.text)),
             fmt::format("write {}, the unit in which it is measured", in_quotes(metric.unit)));
        return;
      }
    }
    fail(cell.col, fmt::format("unknown metric {} of {}", in_quotes(cell.text), benchmark->name),
         config::suggestion(cell.text, names, "its metrics"));
  }

  bool read_number(const Cell& cell, std::string_view what, double& out) {
    double value = 0;
    const Digits digits = parse_number(cell.text, value);
    if (digits == Digits::good && value >= 0) {
      out = value;
      return true;
    }
    const std::string_view how = digits == Digits::none           ? "no number"
                                 : digits == Digits::out_of_range ? "not finite"
                                                                  : "negative";
    return fail(cell.col, fmt::format("{} is {}: {}", what, in_quotes(cell.text), how),
                "write a number, 0 or more, in the unit of the row");
  }

  void read_numbers(const std::vector<Cell>& cells, MeasuredValue& row) {
    bool good = read_number(cells[3], "value", row.value);
    const auto repetitions = number_in<std::int64_t>(cells[5].text);
    if (repetitions && *repetitions >= 1) {
      row.repetitions = *repetitions;
    } else {
      fail(cells[5].col, fmt::format("repetitions is {}", in_quotes(cells[5].text)), "write 1 or more");
    }
    good = read_number(cells[6], "low", row.low) && good;
    good = read_number(cells[7], "high", row.high) && good;
    if (good && row.low > row.value) {
      fail(cells[6].col, fmt::format("low {} is above the value {}", row.low, row.value),
           "write the smallest of the repetitions as low");
    }
    if (good && row.high < row.value) {
      fail(cells[7].col, fmt::format("high {} is below the value {}", row.high, row.value),
           "write the largest of the repetitions as high");
    }
  }

  void keep(MeasuredValue row) {
    const std::string key = fmt::format("{},{},{}", row.benchmark, to_string(row.parameters), row.metric);
    const auto [first, fresh] = seen_.emplace(key, line_);
    if (!fresh) {
      fail(1, fmt::format("{} of {} was already measured in line {}", row.metric, row.benchmark, first->second),
           "state each value once: the median of its repetitions");
      return;
    }
    out_.values.push_back(std::move(row));
  }

  void finish() {
    if (state_ == State::header) {
      end_header();
      fail(0, "there are no columns", fmt::format("write '{}' after the header", columns));
    } else if (complaints_.ok() && out_.values.empty()) {
      fail(0, "there are no rows", fmt::format("write a row like {}", example));
    }
  }

  formats::Complaints complaints_;
  const std::vector<Benchmark>& known_;
  Measurements out_;
  std::map<std::string, int> seen_;
  State state_ = State::magic;
  int line_ = 0;
};

}  // namespace

Collection Measurements::collection(std::size_t file) const {
  return file == 0 ? Collection{source, gpus, driver, date} : later.at(file - 1);
}

std::vector<const MeasuredValue*> Measurements::all(std::string_view benchmark, std::string_view metric) const {
  std::vector<const MeasuredValue*> found;
  for (const MeasuredValue& value : values) {
    if (value.benchmark == benchmark && value.metric == metric) found.push_back(&value);
  }
  return found;
}

const MeasuredValue* Measurements::find(std::string_view benchmark, std::string_view metric,
                                        const Parameters& parameters) const {
  for (const MeasuredValue& value : values) {
    if (value.benchmark == benchmark && value.metric == metric && value.parameters == parameters) return &value;
  }
  return nullptr;
}

bool is_measurements(const std::filesystem::path& file) {
  return file.filename().string().ends_with(".measurements.csv");
}

std::optional<Measurements> load_measurements(const std::filesystem::path& file, config::Diagnostics& diagnostics,
                                              const std::vector<Benchmark>& known) {
  const auto text =
      formats::read_file({.file = file, .remedy = "name a measurements file, as 'validation/collect' writes it"},
                         largest_file, diagnostics);
  if (!text) return std::nullopt;
  return read_measurements(file.string(), *text, diagnostics, known);
}

std::optional<Measurements> read_measurements(const std::string& name, const std::string& text,
                                              config::Diagnostics& diagnostics, const std::vector<Benchmark>& known) {
  return Reader(name, diagnostics, known).read(text);
}

std::string to_string(const Parameters& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out;
}

}  // namespace moire::measurements
