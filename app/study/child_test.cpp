#include "app/study/child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>

#include "sim/core/invariant.hpp"
#include "sim/core/log.hpp"

namespace moire::study {
namespace {

using testing::ElementsAre;
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
              ThrowsMessage<core::RunFailure>(HasSubstr("memory")));
  EXPECT_THAT([] { run_in_child([]() -> std::string { throw core::RunFailure("disk full"); }, no_tick); },
              ThrowsMessage<core::RunFailure>("disk full"));
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

TEST(Children, ReportInTheirOrderHoweverManyRunAtOnce) {
  std::vector<std::function<std::string()>> works;
  for (int i = 0; i < 7; ++i) {
    works.emplace_back([i] {
      std::this_thread::sleep_for(std::chrono::milliseconds(i % 2 == 0 ? 30 : 1));
      return std::to_string(i);
    });
  }
  for (const std::size_t at_once : {1, 3, 20}) {
    std::vector<std::size_t> begun;
    const auto reports = run_in_children(
        works, at_once, [&](std::size_t i) { begun.push_back(i); }, no_tick);
    std::string text;
    for (const ChildReport& report : reports) text += report.text;
    EXPECT_EQ(text, "0123456");
    EXPECT_THAT(begun, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  }
}

TEST(Children, TheFirstFailureIsToldWhenAllHaveEnded) {
  const std::vector<std::function<std::string()>> works = {[] { return std::string("good"); },
                                                           []() -> std::string {
                                                             std::this_thread::sleep_for(std::chrono::milliseconds(30));
                                                             throw core::RunFailure("first");
                                                           },
                                                           []() -> std::string { throw core::RunFailure("second"); }};
  EXPECT_THAT(
      [&] {
        run_in_children(
            works, 3, [](std::size_t) {}, no_tick);
      },
      ThrowsMessage<core::RunFailure>("first"));
}

TEST(Children, OneThatFailsLeavesTheOthers) {
  const std::vector<std::function<std::string()>> works = {
      []() -> std::string { throw core::RunFailure("disk full"); }, [] { return std::string("good"); },
      []() -> std::string { throw std::logic_error("wrong"); }, [] { return std::string("good, too"); }};
  const auto ends = try_in_children(
      works, 1, [](std::size_t) {}, no_tick, OnFailure::go_on);
  EXPECT_THAT([&] { std::rethrow_exception(ends[0].failure); }, ThrowsMessage<core::RunFailure>("disk full"));
  EXPECT_EQ(ends[1].report->text, "good");
  EXPECT_THAT([&] { std::rethrow_exception(ends[2].failure); }, ThrowsMessage<core::InvariantError>("wrong"));
  EXPECT_EQ(ends[3].report->text, "good, too");
}

TEST(Children, OneThatIsEndedFromOutsideIsNoBug) {
  const auto ended = []() -> std::string {
    std::raise(SIGTERM);
    return {};
  };
  EXPECT_THAT([&] { run_in_child(ended, no_tick); },
              ThrowsMessage<core::RunFailure>(HasSubstr("ended by another process")));
}

TEST(Children, LogInTheirOrder) {
  static std::string lines;
  core::log_state = {core::LogLevel::info, [](core::LogLevel, const std::string& text) { lines += text + ";"; }};
  std::vector<std::function<std::string()>> works;
  for (int i = 0; i < 4; ++i) {
    works.emplace_back([i] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * (3 - i)));
      core::log_info("work {}", i);
      // The child starts a child of its own, as blame does for its simulations.
      return run_in_child([i] { return core::log_info("below {}", i), std::string(); }, no_tick).text;
    });
  }
  run_in_children(
      works, 4, [](std::size_t) {}, no_tick);
  core::log_state = {};
  EXPECT_EQ(lines, "work 0;below 0;work 1;below 1;work 2;below 2;work 3;below 3;");
}

}  // namespace
}  // namespace moire::study
