#include "sim/core/run_loop.hpp"

namespace moire::core {

void RunLoop::run_instant() {
  const Time instant = calendar_.next_time();
  ++instants_;
  while (!calendar_.empty() && calendar_.next_time() == instant) {
    while (!calendar_.empty() && calendar_.next_time() == instant) calendar_.step();
    settle();
  }
}

void RunLoop::settle() {
  for (Settler* settler : settlers_) settler->settle();
}

void RunLoop::run() {
  settle();
  while (!idle()) run_instant();
}

}  // namespace moire::core
