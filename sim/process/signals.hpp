// Handles the events that end a command from outside: ^C, kill, a closed terminal, the end of the parent process.
#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace moire::process {

// Handles signals from now on: SIGINT, SIGTERM and SIGHUP remove temporary files and end the process. A write to a
// closed pipe (SIGPIPE) or beyond the limit of file sizes (SIGXFSZ) fails with an error and does not end the process.
void handle_signals();

// While an object of this class exists, the first signal is only recorded, so that finished results can be stored; a
// second signal ends the process.
class SignalsNoted {
 public:
  SignalsNoted();
  ~SignalsNoted();
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  const bool before_;
};
int noted_signal();  // returns the recorded signal, or 0 if there was none

// Thrown if work was not done because of a signal.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int by) : std::runtime_error("interrupted"), signal(by) {}
  int signal;
};

// Call it in a forked worker process, with the id of the parent process. From then on, the worker ends when its parent
// ends, and a signal ends the worker at once.
void end_with_parent(pid_t parent);

}  // namespace moire::process
