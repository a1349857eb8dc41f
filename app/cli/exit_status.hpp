// The exit statuses of the command.
#pragma once

namespace moire::cli {

enum ExitStatus : int {
  done = 0,
  check_failed = 1,  // a limit is exceeded, or a checked algorithm is wrong
  output_lost = 1,   // the result could not be written to standard output
  bad_input = 2,
  deadlock = 3,
  our_bug = 70,     // EX_SOFTWARE of sysexits.h
  by_signal = 128,  // plus the signal's number, as in shells
};

}  // namespace moire::cli
