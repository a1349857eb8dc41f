// One line on a terminal that says what a long study does now.
#pragma once

#include <chrono>
#include <string>

namespace moire::study {

class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void run(std::size_t number, std::size_t runs, const std::string& label);  // a run begins
  void tick();                                                               // shows the line once a second has passed
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  const bool terminal_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point run_begin_ = begin_;
  std::string text_;
  bool shown_ = false;
};

}  // namespace moire::study
