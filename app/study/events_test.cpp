#include "app/study/events.hpp"

#include <gtest/gtest.h>

namespace moire::study {
namespace {

Time after(double us) { return Time::from_us(us); }

replay::OperationTimes copied(double begin, double end) {
  replay::OperationTimes times;
  times.begin = after(begin);
  times.end = after(end);
  return times;
}

// The launch of a kernel takes 3 us, then its first workgroup begins.
replay::OperationTimes computed(double begin, double end) {
  replay::OperationTimes times = copied(begin, end);
  times.first_workgroup = after(begin + 3);
  return times;
}

program::Queue queue_of(std::vector<program::Operation> operations, std::uint32_t stream_of = program::no_queue) {
  program::Queue queue;
  queue.operations = std::move(operations);
  queue.stream_of = stream_of;
  return queue;
}

// Two events add 4 us to a kernel, a kernel begins 2 us after the end of another one, and the host enqueues an
// operation in 5 us.
struct Events : testing::Test {
  Events() {
    gpu.host.event_pair = after(4);
    gpu.host.queue_gap = after(2);
    gpu.host.enqueue = after(5);
    result.end = after(101);
  }
  double between() const { return between_events(result, program, gpu).us(); }
  double period() const { return repeated(result, program, gpu).us(); }

  machine::GpuSpec gpu;
  program::Program program{2};
  replay::Result result;
};

TEST_F(Events, ShowAKernelFromItsFirstWorkgroupOn) {
  program.queues = {queue_of({program::Kernel{}, program::Copy{}})};
  result.operations = {computed(1, 50), copied(50, 101)};
  EXPECT_EQ(between(), 101 - 4 + 4);
  EXPECT_EQ(period(), 101 - 4 + 2);
}

TEST_F(Events, AddLessOnAGpuWithoutPeers) {
  gpu.host.event_pair_alone = after(1);
  program = program::Program(1);
  program.queues = {queue_of({program::Kernel{}})};
  result.operations = {computed(1, 101)};
  EXPECT_EQ(between(), 101 - 4 + 1);
  gpu.host.event_pair_alone.reset();
  EXPECT_EQ(between(), 101 - 4 + 4);
}

TEST_F(Events, ShowACopyFromItsBeginOn) {
  program.queues = {queue_of({program::Copy{}, program::Kernel{}})};
  result.operations = {copied(1, 50), computed(50, 101)};
  EXPECT_EQ(between(), 100);
  EXPECT_EQ(period(), 100);
}

// A stream's copy that begins while the kernel is still launched does not end the wait of the first event.
TEST_F(Events, OfAQueueThatBeginsWithAKernelDoNotSeeItsStreams) {
  program.queues = {queue_of({program::Kernel{}}), queue_of({program::Copy{}}, 0)};
  result.operations = {computed(1, 101), copied(2, 60)};
  EXPECT_EQ(between(), 101 - 4 + 4);
  program.queues[0] = queue_of({program::Signal{}, program::Kernel{}});
  result.operations.insert(result.operations.begin(), copied(2, 2));
  EXPECT_EQ(between(), 99) << "a queue that first releases its streams has the time of the first of all";
}

TEST_F(Events, OfTwoQueuesShowTheFirstThatBegins) {
  program.queues = {queue_of({program::Kernel{}}), queue_of({program::Copy{}})};
  result.operations = {computed(1, 101), copied(2, 60)};
  EXPECT_EQ(between(), 99);
}

TEST_F(Events, ARepetitionWaitsForTheHost) {
  program.queues = {queue_of(std::vector<program::Operation>(30, program::Copy{}))};
  result.operations.assign(30, copied(1, 101));
  EXPECT_EQ(period(), 150);
  program.queues[0].by_host = true;
  EXPECT_EQ(period(), 100);
}

}  // namespace
}  // namespace moire::study
