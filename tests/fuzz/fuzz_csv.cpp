// libFuzzer: reads any bytes as a CSV table. The rows of an accepted table must be the same after they are written and
// read again. A refused table must have an error message.
#include <cstdlib>
#include <string>

#include "sim/formats/csv.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

// Returns the text of a field as the writer writes it, with spaces in place of line ends. The only line end that the
// reader accepts in a field is '\r'.
std::string in_a_row(std::string text) {
  for (char& c : text) c = c == '\r' ? ' ' : c;
  return text;
}

std::string written(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + formats::csv_field(field);
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  const auto table = formats::read_csv_text("input.csv", text, diagnostics);
  require(table.has_value() == diagnostics.ok());
  require(diagnostics.size() <= 22);
  if (!table) return 0;
  for (const auto& row : table->rows) {
    require(row.size() == table->columns.size());
    std::vector<std::string> fields = {"first"};  // a first field, so that the line is not empty
    for (const formats::CsvCell& cell : row) fields.push_back(in_a_row(cell.text));
    std::size_t unclosed = 0;
    const auto again = formats::csv_fields(written(fields), unclosed);
    require(unclosed == 0 && again.size() == fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) require(again[i].text == fields[i]);
  }
  return 0;
}
