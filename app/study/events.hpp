// What events that are recorded around a program show.
#pragma once

#include "models/hardware/machine/spec.hpp"
#include "models/hardware/replay/replay.hpp"

namespace moire::study {

// Returns the time that two events would show, one recorded in the queue before the program and one after it. It does
// not contain the time in which the host enqueues the program, because the GPU records the events.
Time between_events(const replay::Result& result, const program::Program& program, const machine::GpuSpec& gpu);

// Returns the period of a program that is repeated. The host enqueues the next repetitions while one runs, so
// enqueueing matters only if it takes longer than running. Operations of queues that a host thread drives (by_host) do
// not count, because they are not enqueued ahead of time.
Time repeated(const replay::Result& result, const program::Program& program, const machine::GpuSpec& gpu);

}  // namespace moire::study
