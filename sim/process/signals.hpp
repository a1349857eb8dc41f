// What ends a command from outside: ^C, kill, a closed terminal, its parent's end.
#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace moire::process {

// SIGINT, SIGTERM and SIGHUP end the process without its temporary files. A reader that is gone and a limit on the size
// of files become errors of the write.
void handle_signals();

// While there is one, the first signal is only noted, so that what is finished can be kept; a second one ends the
// process.
class SignalsNoted {
 public:
  SignalsNoted();
  ~SignalsNoted();
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;

 private:
  const bool before_;
};
int noted_signal();  // 0: none

// The work was not done because of it.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int by) : std::runtime_error("interrupted"), signal(by) {}
  int signal;
};

// In a process that was forked to work for another one: it ends when that one does, and signals end it at once.
void end_with_parent(pid_t parent);

}  // namespace moire::process
