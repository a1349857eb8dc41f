// Drives a RunLoop inside SimGrid's engine as a resource model that advances by itself (the contract that SimGrid's
// ns-3 binding uses). When asked for its next date it runs all instants up to SimGrid's own next event, and stops
// earlier if something must enter SimGrid. Private to this folder: includes SimGrid headers.
#pragma once

#include <exception>
#include <functional>
#include <simgrid/kernel/resource/Model.hpp>

#include "sim/core/run_loop.hpp"

namespace moire::core::flow {

// The only conversions between our integer picoseconds and SimGrid's double seconds.
inline double to_simgrid(Time t) { return static_cast<double>(t.ps) * 1e-12; }
Time from_simgrid(double seconds);

class RunLoopModel final : public simgrid::kernel::resource::Model {
 public:
  // `waiting` says whether `enter` has work to do; `enter` runs once SimGrid's clock shows the loop's time.
  RunLoopModel(RunLoop& loop, std::function<bool()> waiting, std::function<void()> enter);

  bool next_occurring_event_is_idempotent() override { return false; }
  double next_occurring_event(double budget) override;
  void update_actions_state(double now, double delta) override;

  // Exceptions of events must not unwind SimGrid's frames: the first one is stored, the loop stops, and this rethrows
  // it.
  void rethrow_failure() const;

 private:
  RunLoop& loop_;
  std::function<bool()> waiting_;
  std::function<void()> enter_;
  std::exception_ptr failure_;
};

}  // namespace moire::core::flow
