#include "sim/core/run_loop.hpp"

namespace moire::core {

void RunLoop::run_instant() {
  const Time instant = calendar_.next_time();
  ++instants_;
  while (!calendar_.empty() && calendar_.next_time() == instant) {
    while (!calendar_.empty() && calendar_.next_time() == instant) calendar_.step();
    settle();
  }
  if (pulse_ == nullptr) return;
  pulse_->now_ps.store(instant.ps, std::memory_order_relaxed);
  pulse_->events.store(calendar_.fired(), std::memory_order_relaxed);
}

void RunLoop::settle() {
  for (Settler* settler : settlers_) settler->settle();
}

void RunLoop::run() {
  settle();
  while (!idle()) run_instant();
}

}  // namespace moire::core
