#include "app/report/formats.hpp"

#include <algorithm>

#include "sim/core/invariant.hpp"

namespace moire::report {

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {"table", ".txt", write_text},        // for the terminal
      {"json", ".json", write_json},        // for programs
      {"csv", ".csv", write_csv},           // for spreadsheets
      {"html", ".html", write_html},        // a self-contained page
      {"markdown", ".md", write_markdown},  // for a pull request or a wiki
  };
  return all;
}

const Format& format(const std::string& name) {
  const auto known =
      std::find_if(formats().begin(), formats().end(), [&name](const Format& one) { return one.name == name; });
  MOIRE_INVARIANT(known != formats().end(), "a format is asked for that is not registered");
  return *known;
}

}  // namespace moire::report
