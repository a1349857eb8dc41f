// Tests of shared work queues: workgroups take the next item of their kernel's queue.
#include <gmock/gmock.h>

#include <map>

#include "tests/support/example_program.hpp"

namespace moire::replay {
namespace {

using machine::example_system;
using program::Program;

Time us(double t) { return Time::from_us(t); }

// Every workgroup first spends its `own` time, then executes items.
class Taking final : public program::KernelBody {
 public:
  using Own = std::function<Time(std::int64_t workgroup)>;
  using Item = std::function<Steps(std::int64_t item)>;
  Taking(std::int64_t workgroups, Own own, std::int64_t items, Item item, std::uint32_t strands = 1)
      : workgroups_(workgroups), own_(std::move(own)), items_(items), item_(std::move(item)), strands_(strands) {}
  std::int64_t workgroups(Rank) const override { return workgroups_; }
  std::uint32_t strands(Rank) const override { return strands_; }
  std::int64_t items(Rank) const override { return items_; }
  bool phase(Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    if (step == 0) phase = delay(own_(workgroup));
    if (step == 1) phase.kind = program::Phase::Kind::take;
    return step <= 1;
  }
  bool item_phase(Rank, std::int64_t item, std::uint32_t step, program::Phase& phase) const override {
    const Steps steps = item_(item);
    if (step >= steps.size()) return false;
    phase = steps[step];
    return true;
  }

 private:
  std::int64_t workgroups_;
  Own own_;
  std::int64_t items_;
  Item item_;
  std::uint32_t strands_;
};

program::Kernel taking(std::string name, std::shared_ptr<const Taking> body) {
  program::Kernel made = kernel(std::move(name), 0, nullptr);
  made.body = std::move(body);
  return made;
}

Program of(std::vector<program::Operation> operations, Rank ranks = 1) {
  Program program(ranks);
  program.queues = {queue("main", std::move(operations))};
  return program;
}

Taking::Item last(double t) {
  return [=](std::int64_t) { return Steps{delay(us(t))}; };
}

// One workgroup is busy for 5 us. The other one executes five items in that time, and then both share the other six.
TEST(Items, WhoeverIsFreeTakesTheNextOne) {
  const auto own = [](std::int64_t wg) { return us(wg == 0 ? 5 : 0); };
  const auto body = std::make_shared<Taking>(2, own, 11, last(1));
  Watcher seen;
  EXPECT_EQ(run(example_system(1), of({taking("take", body)}), &seen).end, us(8));
  std::map<std::int64_t, int> done;
  for (const Watcher::Workgroup& span : seen.workgroups) ++done[span.workgroup];
  EXPECT_EQ(done, (std::map<std::int64_t, int>{{0, 1 + 3}, {1, 8}}));
}

// The GPU has eight CUs. The ninth workgroup starts when the queue of items is empty, so it takes only its `own` time.
TEST(Items, AWorkgroupThatComesLateFindsNone) {
  for (const auto& [items, end] : {std::pair{0, 2}, {15, 3}, {16, 4}, {17, 4}, {160, 22}}) {
    const auto body = std::make_shared<Taking>(
        9, [](std::int64_t) { return us(1); }, items, last(1));
    EXPECT_EQ(run(example_system(1), of({taking("take", body)})).end, us(end)) << items << " items";
  }
}

TEST(Items, AnItemHasSeveralSteps) {
  const auto steps = [](std::int64_t item) {
    return item == 1 ? Steps{} : Steps{delay(us(1)), work(100e3), delay(us(1))};
  };
  const auto body = std::make_shared<Taking>(
      1, [](std::int64_t) { return Time{}; }, 3, steps);
  EXPECT_EQ(run(example_system(1), of({taking("take", body)})).end, us(2 * 3)) << "the second item has none";
}

TEST(Items, EveryKernelAndRankHasItsOwn) {
  const auto body = std::make_shared<Taking>(
      4, [](std::int64_t) { return Time{}; }, 8, last(1));
  const Result result = run(example_system(2), of({taking("a", body), taking("b", body)}, 2));
  EXPECT_EQ(result.rank_end, (std::vector<Time>{us(4), us(4)}));
  for (const OperationTimes& operation : result.operations) EXPECT_EQ(operation.phases[3].count, 2 * 8);
}

TEST(Items, StrandsTakeSideBySide) {
  const auto body = std::make_shared<Taking>(
      1, [](std::int64_t) { return Time{}; }, 6, last(1), 3);
  EXPECT_EQ(run(example_system(1), of({taking("take", body)})).end, us(2));
}

}  // namespace
}  // namespace moire::replay
