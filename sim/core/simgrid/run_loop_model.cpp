#include "sim/core/simgrid/run_loop_model.hpp"

#include <cmath>
#include <limits>
#include <simgrid/s4u/Engine.hpp>

namespace moire::core::flow {

Time from_simgrid(double seconds) { return Time::from_ps(std::round(seconds * 1e12)); }

RunLoopModel::RunLoopModel(RunLoop& loop, std::function<bool()> waiting, std::function<void()> enter)
    : Model("moire"), loop_(loop), waiting_(std::move(waiting)), enter_(std::move(enter)) {}

// `budget` is the time until SimGrid's next event in seconds, or negative if SimGrid has no event. Returns the time
// until SimGrid must act again, or a negative number if SimGrid need not act.
double RunLoopModel::next_occurring_event(double budget) {
  const double now = simgrid::s4u::Engine::get_clock();
  const double limit = budget < 0 ? std::numeric_limits<double>::infinity() : now + budget;
  try {
    while (!failure_ && !waiting_() && !loop_.idle() && to_simgrid(loop_.next_time()) <= limit) loop_.run_instant();
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (!failure_ && waiting_()) return std::max(0.0, to_simgrid(loop_.now()) - now);
  return budget;
}

void RunLoopModel::update_actions_state(double, double) {
  if (!failure_ && waiting_()) enter_();
}

void RunLoopModel::rethrow_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace moire::core::flow
