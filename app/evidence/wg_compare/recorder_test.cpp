#include "app/evidence/wg_compare/recorder.hpp"

#include <gmock/gmock.h>

#include "tests/support/example_program.hpp"

namespace moire::wg_compare {
namespace {

using replay::kernel;
using replay::ListBody;
using replay::queue;
using replay::Steps;
using replay::work;
using ::testing::ElementsAre;

// Runs a kernel on 2 GPUs of the example machine and returns the recorder. `answer` returns the steps of a workgroup.
Recorder recorded(const ListBody::Answer& answer) {
  program::Program program(2);
  program.queues.push_back(queue("main", {kernel("k", 1, answer)}));
  Recorder recorder(2);
  replay::run(machine::example_system(2), program, &recorder);
  return recorder;
}

program::Phase posted(double bytes, Rank peer) {
  program::Phase phase = work(bytes, peer, 1);
  phase.posted = true;
  return phase;
}

// Each gather posts a store. Every gather is a task, which ends before its store arrives.
TEST(Recorder, PostedStoresArePartOfNoTask) {
  const Recorder recorder = recorded([](Rank rank, std::int64_t) {
    return Steps{work(1e6, 1 - rank), posted(5e5, 1 - rank), work(1e6, 1 - rank), posted(5e5, 1 - rank)};
  });
  const auto record = recorder.record("k");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->ranks, 2u);
  EXPECT_EQ(record->workgroups_per_rank, 1);
  ASSERT_EQ(record->tasks.size(), 4u);
  ASSERT_EQ(record->stores.size(), 4u);
  for (const Store& store : record->stores) {
    EXPECT_EQ(store.peer, 1 - store.source);
    EXPECT_EQ(store.bytes, 5e5);
    EXPECT_EQ(store.begin, store.end);
    // The store was posted when the preceding gather ended.
    EXPECT_TRUE(std::any_of(record->tasks.begin(), record->tasks.end(),
                            [&](const Task& task) { return task.rank == store.source && task.end == store.begin; }));
    EXPECT_GT(store.arrived, store.end);
  }
  EXPECT_GE(record->makespan, record->stores.back().arrived);
}

// Stores that are not posted are issued from the begin to the end of their phase.
TEST(Recorder, StoresOfAPhaseThatIsWaitedFor) {
  const auto record = recorded([](Rank rank, std::int64_t) { return Steps{work(1e6, 1 - rank, 1)}; }).record("k");
  ASSERT_TRUE(record);
  ASSERT_EQ(record->tasks.size(), 2u);
  ASSERT_EQ(record->stores.size(), 2u);
  EXPECT_EQ(record->stores[0].begin, record->tasks[0].begin);
  EXPECT_EQ(record->stores[0].end, record->tasks[0].end);
  EXPECT_EQ(record->makespan, record->tasks[0].end);
}

// Tasks have one or two kinds of phases. A new task begins where the first phase occurs again, where the peer changes,
// and after a fence.
TEST(Recorder, FindsTheTasks) {
  const auto tasks_of = [](const Steps& steps) {  // returns the lengths in ps; rank 1 does nothing
    const auto record = recorded([&](Rank rank, std::int64_t) { return rank == 0 ? steps : Steps{}; }).record("k");
    std::vector<std::int64_t> lengths;
    for (const Task& task : record->tasks) lengths.push_back((task.end - task.begin).ps);
    return lengths;
  };
  const auto alone = tasks_of({work(1e6, 1, 0), work(1e6, 1, 0)});
  ASSERT_EQ(alone.size(), 2u);
  const auto both = tasks_of({work(1e6, 1, 0), work(1e6, 1, 1), work(1e6, 1, 0), work(1e6, 1, 1)});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_GT(both[0], alone[0]);
  EXPECT_EQ(tasks_of({work(1e6, 1, 1), work(1e6, 0, 0)}).size(), 2u);
  EXPECT_EQ(tasks_of({work(1e6, 1, 0), replay::fence(Time::from_us(1)), work(1e6, 1, 0)}).size(), 2u);
}

// A fused GEMM stores a tile while it computes the next tile. Its phases are the main loop, the fence of the previous
// tile, the stores that do not fit into the buffer, and the posted rest of the stores.
TEST(Recorder, StoresBehindAFenceAreNoTask) {
  const Steps tile{work(1e6, 0, 0), replay::fence(Time::from_us(1)), work(1e6, 1, 1), posted(5e5, 1)};
  Steps two = tile;
  two.insert(two.end(), tile.begin(), tile.end());
  const auto record = recorded([&](Rank rank, std::int64_t) { return rank == 0 ? two : Steps{}; }).record("k");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->tasks.size(), 2u);
  EXPECT_EQ(record->stores.size(), 4u);
}

// A phase that only stores belongs to the preceding task if it stores to the same peer; otherwise it belongs to no
// task.
TEST(Recorder, StoresThatGoElsewhereAreNoTask) {
  const auto record = recorded([](Rank rank, std::int64_t) {
                        return Steps{work(1e6, rank, 0), work(1e6, 1 - rank, 1), work(1e6, rank, 0)};
                      }).record("k");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->tasks.size(), 4u);
  EXPECT_EQ(record->stores.size(), 2u);
}

TEST(Recorder, PutsAreBytesToAPeer) {
  Recorder recorder(2);
  program::WorkgroupSpan span{};
  span.kernel = "k";
  span.phase = "gather";
  span.work = true;
  span.begin = Time::from_us(1);
  span.end = Time::from_us(3);
  recorder.workgroup(span);
  recorder.put({0, 1, 0, Bytes{64}, 0, "NIC 0", Time::from_us(3), Time::from_us(5)});
  recorder.put({0, 1, 0, Bytes{}, 0, "scale-up", Time::from_us(3), Time::from_us(5)});  // a signal carries no bytes
  const auto record = recorder.record("k");
  ASSERT_TRUE(record);
  ASSERT_EQ(record->stores.size(), 1u);
  EXPECT_EQ(record->stores[0].bytes, 64);
  EXPECT_EQ(record->stores[0].begin, Time::from_us(2));  // counted from the first start
  EXPECT_EQ(record->stores[0].arrived, Time::from_us(4));
}

TEST(Recorder, TheKernelIsTheNamedOneOrTheOnlyOne) {
  Recorder recorder(1);
  EXPECT_FALSE(recorder.record("a"));
  program::WorkgroupSpan span{};
  span.phase = "gather";
  span.work = true;
  span.end = Time::from_us(1);
  span.kernel = "a";
  recorder.workgroup(span);
  EXPECT_EQ(recorder.record("b")->kernel, "a");
  span.kernel = "c";
  recorder.workgroup(span);
  EXPECT_FALSE(recorder.record("b"));
  EXPECT_EQ(recorder.record("c")->kernel, "c");
  EXPECT_THAT(recorder.kernels(), ElementsAre("a", "c"));
}

}  // namespace
}  // namespace moire::wg_compare
