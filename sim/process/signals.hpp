// Handles the events that end a command from outside: ^C, kill, a closed terminal, the end of the parent process.
#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace moire::process {

// SIGINT, SIGTERM and SIGHUP remove temporary files and end the process. Closed pipes (SIGPIPE) and file size limits
// (SIGXFSZ) become write errors.
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
int noted_signal();  // 0 if none

// Thrown if work was not done because of a signal.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int by) : std::runtime_error("interrupted"), signal(by) {}
  int signal;
};

// For a forked worker process: from now on it ends when its parent ends, and signals end it at once.
void end_with_parent(pid_t parent);

}  // namespace moire::process
