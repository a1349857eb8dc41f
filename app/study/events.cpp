#include "app/study/events.hpp"

#include <algorithm>
#include <variant>

namespace moire::study {

namespace {

struct Begin {
  Time time = Time::max();
  bool kernel = false;
};

bool begins_with_kernel(const program::Queue& queue) {
  return !queue.operations.empty() && std::holds_alternative<program::Kernel>(queue.operations.front());
}

// Returns the begin of the first workgroup or copy. The time for enqueueing and launching it comes before. If a queue
// begins with a kernel, its streams do not count: the events are recorded in the queue itself, and copies of a stream
// can begin while the kernel is still launched.
Begin first_begin(const replay::Result& result, const program::Program& program) {
  Begin first;
  auto operation = result.operations.begin();
  for (const program::Queue& queue : program.queues) {
    const auto end = operation + static_cast<std::ptrdiff_t>(queue.operations.size());
    const bool counts = queue.stream_of == program::no_queue || !begins_with_kernel(program.queues[queue.stream_of]);
    for (; operation != end; ++operation) {
      const bool is_kernel = operation->first_workgroup != Time::max();
      const Time begin = is_kernel ? operation->first_workgroup : operation->begin;
      if (counts && begin < first.time) first = {begin, is_kernel};
    }
  }
  return first;
}

}  // namespace

Time between_events(const replay::Result& result, const program::Program& program, const machine::GpuSpec& gpu) {
  const Begin first = first_begin(result, program);
  return result.end - first.time + (first.kernel ? gpu.host.events(program.ranks()) : Time{});
}

Time repeated(const replay::Result& result, const program::Program& program, const machine::GpuSpec& gpu) {
  const Begin first = first_begin(result, program);
  std::size_t ahead = 0;
  for (const program::Queue& queue : program.queues) ahead += queue.by_host ? 0 : queue.operations.size();
  const Time enqueued = gpu.host.enqueue * static_cast<std::int64_t>(ahead);
  return std::max(enqueued, result.end - first.time + (first.kernel ? gpu.host.queue_gap : Time{}));
}

}  // namespace moire::study
