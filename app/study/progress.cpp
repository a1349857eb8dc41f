#include "app/study/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "sim/process/standard_streams.hpp"

namespace moire::study {

namespace {
constexpr auto quiet = std::chrono::seconds(1);
constexpr const char* back_and_erase = "\r\x1b[K";
}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::run(std::size_t number, std::size_t runs, const std::string& label) {
  text_ = fmt::format("run {}/{}", number, runs);
  if (!label.empty()) text_ += "  " + label;
  run_begin_ = Clock::now();
  tick();
}

void Progress::tick() {
  const auto now = Clock::now();
  if (!terminal_ || now - begin_ < quiet) return;
  const std::chrono::duration<double> in_run = now - run_begin_;
  process::tell("{}{}  {:.1f} s", back_and_erase, text_, in_run.count());
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  process::tell("{}", back_and_erase);
  shown_ = false;
}

}  // namespace moire::study
