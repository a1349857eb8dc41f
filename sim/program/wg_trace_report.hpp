// Errors of one WG trace: placed in its file, and limited so that a wrong file is not told line by line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::program {

class WgTraceReport {
 public:
  static constexpr int most_errors = 20;

  WgTraceReport(std::string file, config::Diagnostics& diagnostics)
      : source_(std::make_shared<config::Source>(config::Source{std::move(file), {}, true, {}})),
        diagnostics_(&diagnostics) {}

  // Line 0 stands for the file as a whole.
  void error(std::int64_t line, std::size_t col, std::string what, std::string remedy) {
    if (stopped_) return;
    diagnostics_->error(place(line, col), std::move(what), std::move(remedy));
    if (++errors_ == most_errors) {
      diagnostics_->error(place(line, std::max<std::size_t>(col, 1)),
                          "too many errors; the rest of the file was not read");
      stopped_ = true;
    }
  }
  // An error after which the rest of the file says nothing.
  void fatal(std::int64_t line, std::size_t col, std::string what, std::string remedy) {
    error(line, col, std::move(what), std::move(remedy));
    stopped_ = true;
  }

  bool clean() const { return errors_ == 0; }
  int errors() const { return errors_; }
  bool stopped() const { return stopped_; }

 private:
  config::Place place(std::int64_t line, std::size_t col) const {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    return {source_, static_cast<int>(std::min(line, most)), static_cast<int>(col)};
  }

  std::shared_ptr<const config::Source> source_;
  config::Diagnostics* diagnostics_;
  int errors_ = 0;
  bool stopped_ = false;
};

}  // namespace moire::program
