// Shows on stderr what a long command is doing, by a line that is redrawn on a terminal, or by separate lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/pulse.hpp"
#include "sim/core/quantity.hpp"

namespace moire::study {

class Progress {
 public:
  enum class Form : std::uint8_t { terminal, lines };  // terminal: shows nothing if stderr is not a terminal

  explicit Progress(Form form = Form::terminal);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Announces the works of this command, before the first work begins. `steps` has the expected steps of each work.
  void expect(std::vector<double> steps);
  // Returns the memory in which a work reports its progress, also from a forked process.
  core::Pulse* pulse(std::size_t work) const;
  void begins(std::size_t work);
  void ended(std::size_t work);

  void run(std::size_t number, std::size_t runs, const std::string& label);  // call it when a run begins
  void tick();  // shows the line, once the command has taken two seconds
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  struct Work {
    double steps = 0;
    bool has_ended = false;
  };
  std::string figures(double seconds);

  const Form form_;
  const bool shows_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point run_begin_ = begin_;
  Clock::time_point last_line_ = begin_;
  Clock::time_point last_figures_ = begin_;
  std::uint64_t last_events_ = 0;
  std::string text_;
  bool shown_ = false;
  std::vector<Work> works_;
  std::size_t latest_ = 0;
  std::unique_ptr<core::Pulse[], void (*)(core::Pulse*)> pulses_;
};

// Returns a text such as "42 %, 1.200 ms simulated, 0.90 M events/s, 1 min 20 s left". `share` of the work, from 0 to
// 1, was done in `seconds`.
std::string told(double share, Time simulated, double events_per_second, double seconds);

}  // namespace moire::study
