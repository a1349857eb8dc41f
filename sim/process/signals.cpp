#include "sim/process/signals.hpp"

#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <csignal>
#include <utility>

#include "sim/process/output_file.hpp"

namespace moire::process {

namespace {

volatile std::sig_atomic_t noting = 0;
volatile std::sig_atomic_t noted = 0;
bool works_for_another = false;

extern "C" void on_signal(int signal) {
  if (noting != 0 && noted == 0) {
    noted = signal;
    return;
  }
  remove_temporary_files();
  std::signal(signal, SIG_DFL);
  raise(signal);  // delivered when this function has returned
}

}  // namespace

void handle_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    // Signals that the parent process ignores (nohup, background jobs of a shell) stay ignored. SIGTERM is an
    // exception, because it ends worker processes.
    if (action.sa_handler == SIG_IGN && signal != SIGTERM) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

SignalsNoted::SignalsNoted() : before_(noting != 0) { noting = works_for_another ? 0 : 1; }
SignalsNoted::~SignalsNoted() { noting = before_ ? 1 : 0; }

int noted_signal() { return noted; }

void end_with_parent(pid_t parent) {
  works_for_another = true;
  noting = 0;
  if (noted != 0) _exit(1);  // a signal to parent and child came before the line above
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // on other systems, a child of a killed parent continues to the end of its work
#endif
  if (getppid() != parent) _exit(1);  // the parent ended before the line above
}

}  // namespace moire::process
