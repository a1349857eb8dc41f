#include "app/study/progress.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "sim/process/standard_streams.hpp"

namespace moire::study {

namespace {

constexpr auto quiet = std::chrono::seconds(2);
constexpr auto between_lines = std::chrono::seconds(10);
constexpr const char* back_and_erase = "\r\x1b[K";
using Seconds = std::chrono::duration<double>;

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  if (seconds < 3600) return fmt::format("{:.0f} min {:.0f} s", std::floor(seconds / 60), std::fmod(seconds, 60));
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string told(double share, Time simulated, double events_per_second, double seconds) {
  std::string text = fmt::format("{:.0f} %, {:.3f} ms simulated, {:.2f} M events/s", std::floor(100 * share),
                                 simulated.us() * 1e-3, events_per_second * 1e-6);
  constexpr double too_early = 0.005;
  if (share > too_early && share < 1) text += fmt::format(", {} left", duration(seconds * (1 - share) / share));
  return text;
}

Progress::Progress(Form form)
    : form_(form), shows_(form == Form::lines || isatty(STDERR_FILENO) == 1), pulses_(nullptr, [](core::Pulse*) {}) {}

Progress::~Progress() { clear(); }

void Progress::expect(std::vector<double> steps) {
  for (const double one : steps) works_.push_back({one, false});
  if (!shows_ || works_.empty()) return;
  const std::size_t size = works_.size() * sizeof(core::Pulse);
  void* shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;  // the line then shows the time only
  // Never unmapped, because child processes may write there until they end.
  pulses_.reset(new (shared) core::Pulse[works_.size()]);
}

core::Pulse* Progress::pulse(std::size_t work) const { return pulses_ ? &pulses_[work] : nullptr; }

void Progress::begins(std::size_t work) { latest_ = work; }

void Progress::ended(std::size_t work) { works_[work].has_ended = true; }

void Progress::run(std::size_t number, std::size_t runs, const std::string& label) {
  text_ = fmt::format("run {}/{}", number, runs);
  if (!label.empty()) text_ += "  " + label;
  run_begin_ = Clock::now();
  tick();
}

std::string Progress::figures(double seconds) {
  double all = 0;
  double done = 0;
  std::uint64_t events = 0;
  for (std::size_t work = 0; work < works_.size(); ++work) {
    const double steps = works_[work].steps;
    const auto so_far = static_cast<double>(pulses_[work].steps.load(std::memory_order_relaxed));
    all += steps;
    done += works_[work].has_ended ? steps : std::min(so_far, 0.99 * steps);  // the expected number may be too small
    events += pulses_[work].events.load(std::memory_order_relaxed);
  }
  const auto now = Clock::now();
  const double rate = static_cast<double>(events - last_events_) / Seconds(now - last_figures_).count();
  last_figures_ = now;
  last_events_ = events;
  return told(all > 0 ? done / all : 0, Time{pulses_[latest_].now_ps.load(std::memory_order_relaxed)}, rate, seconds);
}

void Progress::tick() {
  const auto now = Clock::now();
  if (!shows_ || now - begin_ < quiet) return;
  if (form_ == Form::lines && shown_ && now - last_line_ < between_lines) return;
  last_line_ = now;
  std::string text = fmt::format("{}  {:.1f} s", text_, Seconds(now - run_begin_).count());
  if (pulses_) text += "  " + figures(Seconds(now - begin_).count());
  if (form_ == Form::lines) {
    process::tell("{}\n", text);
  } else {
    process::tell("{}{}", back_and_erase, text);
  }
  shown_ = true;
}

void Progress::clear() {
  if (!shown_ || form_ == Form::lines) return;
  process::tell("{}", back_and_erase);
  shown_ = false;
}

}  // namespace moire::study
