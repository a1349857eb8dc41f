#include "app/evidence/validate/csv_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>

#include "sim/config/suggest.hpp"
#include "sim/program/zstd_stream.hpp"

namespace moire::validate {

namespace {

constexpr std::size_t most_bytes = 64UL << 20;
constexpr std::size_t most_errors = 20;  // of one file; a wrong file has as many as lines

struct Contents {
  std::string text;
  std::string problem;
  std::string remedy;
};

Contents decompressed(std::istream& in) {
  Contents out;
  program::ZstdDecoder decoder(in);
  std::array<char, 65536> block{};
  for (std::size_t n = 0; (n = decoder.read(block.data(), block.size())) > 0;) {
    out.text.append(block.data(), n);
    if (out.text.size() > most_bytes) return out;
  }
  if (decoder.problem() != program::ZstdDecoder::Problem::none) {
    out.problem = "is no whole zstd file";
    out.remedy = "compress it again, or give the plain .csv";
  }
  return out;
}

Contents contents(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return {"", "does not exist", "a path is relative to the file it is written in"};
  }
  if (std::filesystem::is_directory(file, error)) return {"", "is a folder", "name a file in it"};
  std::ifstream in(file, std::ios::binary);
  if (!in) return {"", "cannot be read", "check its permissions"};
  Contents out;
  if (file.extension() == ".zst") {
    out = decompressed(in);
  } else {
    std::array<char, 65536> block{};
    while (out.text.size() <= most_bytes && (in.read(block.data(), block.size()) || in.gcount() > 0))
      out.text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (out.text.size() > most_bytes)
    return {"", fmt::format("is larger than {} MiB", most_bytes >> 20), "keep medians there, not every sample"};
  if (out.problem.empty() && out.text.find('\0') != std::string::npos)
    return {"", "is no text", "give a .csv, or a .csv.zst"};
  return out;
}

class CsvReader {
 public:
  CsvReader(CsvFile& file, std::shared_ptr<const config::Source> source, config::Diagnostics& diagnostics)
      : file_(file), source_(std::move(source)), diagnostics_(diagnostics) {}

  bool read(const std::string& text) {
    for (std::size_t begin = 0; begin < text.size() && errors_ < most_errors;) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::size_t length = end - begin;
      if (length > 0 && text[begin + length - 1] == '\r') --length;
      ++line_;
      line(text.substr(begin, length));
      begin = end + 1;
    }
    if (file_.columns.empty() && errors_ == 0)
      reject(1, "there is no line of column names", "write one, then a line for each case");
    return errors_ == 0;
  }

 private:
  void reject(int col, std::string what, std::string remedy) {
    ++errors_;
    diagnostics_.error({source_, line_, col}, std::move(what), std::move(remedy));
  }

  void line(const std::string& text) {
    if (text.find_first_not_of(" \t") == std::string::npos) return;
    if (text[0] == '#') {
      about(text);
    } else if (file_.columns.empty()) {
      columns(fields(text));
    } else {
      row(fields(text));
    }
  }

  // "# key: value"; a comment without a colon, such as the format's name, is a key of its own.
  void about(const std::string& text) {
    const auto trimmed = [](const std::string& part) {
      const std::size_t first = part.find_first_not_of(" \t");
      return first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(" \t") - first + 1);
    };
    const std::string rest = trimmed(text.substr(1));
    const std::size_t colon = rest.find(": ");
    if (rest.empty()) return;
    if (colon == std::string::npos) {
      file_.about.emplace_back(rest, "");
    } else {
      file_.about.emplace_back(trimmed(rest.substr(0, colon)), trimmed(rest.substr(colon + 2)));
    }
  }

  std::vector<CsvCell> fields(const std::string& text) {
    std::vector<CsvCell> cells;
    std::size_t at = 0;
    well_quoted_ = true;
    for (;;) {
      CsvCell cell{"", {source_, line_, static_cast<int>(at) + 1}};
      if (at < text.size() && text[at] == '"') {
        ++at;
        bool open = true;
        while (at < text.size() && open) {
          if (text[at] != '"') {
            cell.text += text[at++];
          } else if (at + 1 < text.size() && text[at + 1] == '"') {
            cell.text += '"';
            at += 2;
          } else {
            open = false;
            ++at;
          }
        }
        if (open || (at < text.size() && text[at] != ',')) {
          reject(cell.place.col, "a quote is not closed before the comma or the end of the line",
                 "write \"...\", with \"\" for a quote inside");
          at = std::min(text.find(',', at), text.size());
          well_quoted_ = false;
        }
      } else {
        const std::size_t end = std::min(text.find(',', at), text.size());
        cell.text = text.substr(at, end - at);
        at = end;
      }
      cells.push_back(std::move(cell));
      if (at >= text.size()) return cells;
      ++at;  // the comma
    }
  }

  void columns(const std::vector<CsvCell>& cells) {
    file_.header = {source_, line_, 1};
    for (const CsvCell& cell : cells) {
      if (std::find(file_.columns.begin(), file_.columns.end(), cell.text) != file_.columns.end())
        reject(cell.place.col, "column " + config::in_quotes(cell.text) + " is there twice", "name it once");
      file_.columns.push_back(cell.text);
    }
  }

  void row(std::vector<CsvCell> cells) {
    if (!well_quoted_) return;
    if (cells.size() != file_.columns.size()) {
      reject(1,
             fmt::format("{} field{}, but there are {} columns", cells.size(), cells.size() == 1 ? "" : "s",
                         file_.columns.size()),
             "give each column a field; a field that holds a comma stands in quotes");
      return;
    }
    file_.rows.push_back(std::move(cells));
  }

  CsvFile& file_;
  std::shared_ptr<const config::Source> source_;
  config::Diagnostics& diagnostics_;
  std::size_t errors_ = 0;
  int line_ = 0;
  bool well_quoted_ = true;  // the line at hand
};

}  // namespace

std::optional<std::size_t> CsvFile::column(const std::string& wanted, const config::Place& asked,
                                           config::Diagnostics& diagnostics) const {
  const auto known = std::find(columns.begin(), columns.end(), wanted);
  if (known != columns.end()) return static_cast<std::size_t>(known - columns.begin());
  diagnostics.error(asked, fmt::format("no column {} in {}", config::in_quotes(wanted), config::in_quotes(name)),
                    config::suggestion(wanted, columns, "columns there"));
  return std::nullopt;
}

std::optional<CsvFile> read_csv(const std::filesystem::path& file, const config::Place& asked,
                                config::Diagnostics& diagnostics) {
  const Contents read = contents(file);
  if (!read.problem.empty()) {
    diagnostics.error(asked, config::in_quotes(file.string()) + " " + read.problem, read.remedy);
    return std::nullopt;
  }
  CsvFile out;
  out.name = file.string();
  const auto source = std::make_shared<const config::Source>(config::Source{out.name, file.parent_path(), true, {}});
  out.header = {source, 1, 1};
  if (!CsvReader(out, source, diagnostics).read(read.text)) return std::nullopt;
  return out;
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (text.empty() || error != std::errc() || end != last || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace moire::validate
