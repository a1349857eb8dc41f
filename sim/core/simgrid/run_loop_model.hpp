// Drives a RunLoop inside SimGrid's engine, as a resource model that advances by itself, like SimGrid's binding to
// ns-3. When SimGrid asks for the time of its next event, the model runs all instants of the loop up to SimGrid's own
// next event. It stops earlier if a message must enter SimGrid. This header is private to its folder, because it
// includes SimGrid headers.
#pragma once

#include <exception>
#include <functional>
#include <simgrid/kernel/resource/Model.hpp>

#include "sim/core/run_loop.hpp"

namespace moire::core::flow {

// These are the only conversions between Moire's integer picoseconds and SimGrid's seconds in double precision.
inline double to_simgrid(Time t) { return static_cast<double>(t.ps) * 1e-12; }
Time from_simgrid(double seconds);

class RunLoopModel final : public simgrid::kernel::resource::Model {
 public:
  // `waiting` returns true if `enter` has work to do. `enter` runs when SimGrid's clock has reached the loop's time.
  RunLoopModel(RunLoop& loop, std::function<bool()> waiting, std::function<void()> enter);

  bool next_occurring_event_is_idempotent() override { return false; }
  double next_occurring_event(double budget) override;
  void update_actions_state(double now, double delta) override;

  // Exceptions of events must not unwind SimGrid's stack frames. So the model stores the first exception and stops the
  // loop, and this function rethrows the exception.
  void rethrow_failure() const;

 private:
  RunLoop& loop_;
  std::function<bool()> waiting_;
  std::function<void()> enter_;
  std::exception_ptr failure_;
};

}  // namespace moire::core::flow
