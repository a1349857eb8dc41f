// What the exit status of the command means.
#pragma once

namespace moire::cli {

enum ExitStatus : int {
  done = 0,
  check_failed = 1,  // for commands that compare with a limit
  output_lost = 1,   // standard output did not take the result
  bad_input = 2,
  deadlock = 3,
  our_bug = 70,     // EX_SOFTWARE of sysexits.h
  by_signal = 128,  // and the signal's number, as shells say it
};

}  // namespace moire::cli
