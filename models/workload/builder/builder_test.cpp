#include "models/workload/builder/builder.hpp"

#include <gtest/gtest.h>

#include "tests/support/example_equipped.hpp"

namespace moire::builder {
namespace {

TEST(Builder, NamesAreUniqueOverAllQueues) {
  const libraries::EquippedSystem system = libraries::example_equipped(2);
  program::Program program(2);
  program.queues.resize(2);
  Builder first{system, program, program.queues[0]};
  Builder second{system, program, program.queues[1]};
  const auto add = [](Builder& build, const std::string& wanted) {
    const std::string name = build.unique(wanted);
    build.queue.operations.emplace_back(program::Delay{name, Time{}});
    return name;
  };
  EXPECT_EQ(add(first, "embedding"), "embedding");
  EXPECT_EQ(add(second, "embedding"), "embedding#2");
  EXPECT_EQ(add(first, "embedding"), "embedding#3");
  EXPECT_EQ(add(second, "embedding_bag"), "embedding_bag");
  EXPECT_EQ(add(first, "embed"), "embed");
}

TEST(ResidentWorkgroups, FillTheGpu) {
  const libraries::EquippedSystem system =
      libraries::example_equipped(1);  // 8 CUs of 1,024 threads and 65,536 registers
  program::Program program(1);
  program.queues.resize(1);
  const Builder build{system, program, program.queues[0]};
  EXPECT_EQ(resident_workgroups(build, {.threads = 256, .registers_per_thread = 32, .lds = {}}), 32);
  EXPECT_EQ(resident_workgroups(build, {.threads = 256, .registers_per_thread = 72, .lds = {}}), 24);
  EXPECT_EQ(resident_workgroups(build, {.threads = 2048, .registers_per_thread = 8, .lds = {}}), 0);
}

TEST(ResidentWorkgroups, FillTheCusOfTheirQueue) {
  const libraries::EquippedSystem system = libraries::example_equipped(1);
  program::Program program(1);
  program.queues.resize(1);
  const Builder build{system, program, program.queues[0]};
  EXPECT_EQ(build.cus(), 8);
  program.queues[0].cus = {0, 4, 5};
  EXPECT_EQ(build.cus(), 3);
  EXPECT_EQ(resident_workgroups(build, {.threads = 256, .registers_per_thread = 32, .lds = {}}), 12);
}

}  // namespace
}  // namespace moire::builder
