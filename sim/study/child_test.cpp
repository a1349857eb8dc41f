#include "sim/study/child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>

#include "sim/core/invariant.hpp"

namespace moire::study {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto no_tick = [] {};

TEST(Child, ReturnsMoreThanAPipeHolds) {
  const std::string text(1 << 20, 'x');
  const ChildReport report = run_in_child([&] { return text; }, no_tick);
  EXPECT_EQ(report.text, text);
  EXPECT_GT(report.peak_memory_bytes, 1u << 20);
  EXPECT_GT(report.wall_seconds, 0);
}

TEST(Child, TicksWhileTheChildWorks) {
  int ticks = 0;
  run_in_child(
      [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(700));
        return std::string();
      },
      [&] { ++ticks; });
  EXPECT_GE(ticks, 1);
}

TEST(Child, TellsFailuresFromBugs) {
  EXPECT_THAT([] { run_in_child([]() -> std::string { throw std::bad_alloc(); }, no_tick); },
              ThrowsMessage<RunFailure>(HasSubstr("memory")));
  EXPECT_THAT([] { run_in_child([]() -> std::string { throw RunFailure("disk full"); }, no_tick); },
              ThrowsMessage<RunFailure>("disk full"));
  EXPECT_THAT([] { run_in_child([]() -> std::string { throw std::logic_error("a.cpp:3: wrong"); }, no_tick); },
              ThrowsMessage<core::InvariantError>("a.cpp:3: wrong"));
}

TEST(Child, ACrashIsABug) {
  const auto crash = []() -> std::string {
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
  };
  EXPECT_THAT([&] { run_in_child(crash, no_tick); }, ThrowsMessage<core::InvariantError>(HasSubstr("Aborted")));
}

}  // namespace
}  // namespace moire::study
