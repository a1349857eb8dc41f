// Drives a RunLoop inside SimGrid's engine, as a resource model that advances by itself (the contract of SimGrid's
// ns-3 binding): asked for its next date it runs every instant up to SimGrid's own next event, and stops earlier when
// something has to enter SimGrid at that date. Private to this folder: includes SimGrid headers.
#pragma once

#include <exception>
#include <functional>
#include <simgrid/kernel/resource/Model.hpp>

#include "sim/core/run_loop.hpp"

namespace moire::core::flow {

// Dates cross between our integer picoseconds and SimGrid's double seconds only here.
inline double to_simgrid(Time t) { return static_cast<double>(t.ps) * 1e-12; }
Time from_simgrid(double seconds);

class RunLoopModel final : public simgrid::kernel::resource::Model {
 public:
  // `waiting` says whether `enter` has something to do; `enter` runs once SimGrid's clock shows the loop's time.
  RunLoopModel(RunLoop& loop, std::function<bool()> waiting, std::function<void()> enter);

  bool next_occurring_event_is_idempotent() override { return false; }
  double next_occurring_event(double budget) override;
  void update_actions_state(double now, double delta) override;

  // An exception of an event must not unwind SimGrid's frames: it is kept, and the loop stands still from then on.
  void rethrow_failure() const;

 private:
  RunLoop& loop_;
  std::function<bool()> waiting_;
  std::function<void()> enter_;
  std::exception_ptr failure_;
};

}  // namespace moire::core::flow
