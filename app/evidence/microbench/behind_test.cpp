// Closed-form expectations for a machine with round numbers. A copy engine takes 10 us for a first command, 2 us for
// one that follows another, and 10 us per MB. A copy within the GPU takes 5 us for its command and 2 us per MB.
#include <gmock/gmock.h>

#include "app/evidence/microbench/microbench.hpp"
#include "tests/support/example_equipped.hpp"

namespace moire::microbench {
namespace {

constexpr double kernel = 1, peer = 2, local = 3;
constexpr double near = 0.01;  // tolerance in us, for a kernel of 1 ns and for the ramp of a local copy

libraries::EquippedSystem with_host() {
  libraries::EquippedSystem system = libraries::example_equipped(2);
  system.node.gpu.host = {.enqueue = Time::from_us(7),
                          .kernel_start = Time::from_us(3),
                          .queue_gap = Time::from_us(1),
                          .event_pair = Time::from_us(4)};
  system.node.gpu.dma.local_command = Time::from_us(5);
  return system;
}

libraries::EquippedSystem with_hand_overs() {
  libraries::EquippedSystem system = with_host();
  system.node.gpu.host.poll_interval = Time::from_us(8);
  system.node.gpu.dma.completion = Time::from_us(3);
  system.node.gpu.dma.local_completion = Time::from_us(5);
  return system;
}

double time(const libraries::EquippedSystem& system, double first, double second = 0, double third = 0) {
  return find("copy_behind")
      ->run(system, {{"first", first}, {"second", second}, {"third", third}, {"bytes", 1e6}})
      .at("time");
}

TEST(CopyBehind, AloneIsWhatTwoEventsSee) {
  for (const libraries::EquippedSystem& system : {with_host(), with_hand_overs()}) {
    EXPECT_NEAR(time(system, kernel), 4, near);
    EXPECT_NEAR(time(system, kernel, kernel, kernel), 4 + 2 * 1, near);
    EXPECT_NEAR(time(system, peer), 10 + 10, near);
    EXPECT_NEAR(time(system, peer, peer), 10 + 10 + 2 + 10, near);
    EXPECT_NEAR(time(system, local), 5 + 2, near);
    EXPECT_NEAR(time(system, local, local), 5 + 2 + 1 - 4 + 5 + 2, near);
  }
}

TEST(CopyBehind, AnEngineLooksNowAndThenAndAKernelSeesTheEndAMeanTimeLater) {
  const libraries::EquippedSystem system = with_hand_overs();
  constexpr double wait = 8 * 1. / 3;  // of the first of two GPUs, in its first look
  // The engine reads the command while the kernel runs, and sees at once that the kernel has ended.
  EXPECT_NEAR(time(system, kernel, peer), 20, near);
  EXPECT_NEAR(time(system, local, peer), 20, near);
  EXPECT_NEAR(time(system, local, local, peer), 11 + 1 + wait + 10, near)
      << "the local copies take 11 us, followed by a queue gap";
  EXPECT_NEAR(time(system, peer, kernel), 20 + 3 + 1, near);
  EXPECT_NEAR(time(system, peer, kernel, kernel), 20 + 3 + 1 + 1, near);
  EXPECT_NEAR(time(system, kernel, peer, kernel), 20 + 3 + 1, near);
  EXPECT_NEAR(time(system, peer, kernel, peer), 20 + 3 + 1 + 1 + wait + 10, near);
  EXPECT_NEAR(time(system, peer, local), 20 + 5 + 1 - 4 + 5 + 2, near);
}

double found(const libraries::EquippedSystem& system, double second, double gpus) {
  return find("copy_found")->run(system, {{"bytes", 1e6}, {"second", second}, {"gpus", gpus}}).at("mean");
}

// The second of two GPUs that begin with a copy sees its release 8 (2/3 - 1/2) us later than a lone one.
TEST(CopyFound, SeveralGpusSeeTheEndsOfTheirCopiesAtTheSameMoments) {
  const libraries::EquippedSystem system = with_hand_overs();
  constexpr double later = 8. / 6;
  EXPECT_NEAR(found(system, 0, 1), 20, near);
  EXPECT_NEAR(found(system, kernel, 1), 20 + 3 + 1, near);
  EXPECT_NEAR(found(system, local, 1), 20 + 5 + 1 - 4 + 5 + 2, near);
  EXPECT_NEAR(found(system, 0, 2), 20 + later, near);
  EXPECT_NEAR(found(system, kernel, 2), 20 + later + 3 + 1, near);
  EXPECT_THROW(found(system, 0, 0), std::invalid_argument);
  EXPECT_THROW(found(system, 0, 3), std::invalid_argument);
}

TEST(CopyBehind, WithoutThemACopyTakesItsWholeCommand) {
  const libraries::EquippedSystem system = with_host();
  EXPECT_NEAR(time(system, kernel, peer), 4 + 1 - 4 + 10 + 10, near);
  EXPECT_NEAR(time(system, peer, kernel), 20 + 1, near);
  EXPECT_NEAR(time(system, peer, local), 20 + 1 - 4 + 5 + 2, near);
}

TEST(CopyBehind, RefusesWhatThereIsNot) {
  EXPECT_THROW(time(with_host(), 0), std::invalid_argument);
  EXPECT_THROW(time(with_host(), 4), std::invalid_argument);
  EXPECT_THROW(time(libraries::example_equipped(1), peer), std::invalid_argument);
  EXPECT_NEAR(time(libraries::example_equipped(1), kernel), 0, near);
}

}  // namespace
}  // namespace moire::microbench
