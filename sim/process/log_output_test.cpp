#include "sim/process/log_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/core/failure.hpp"

namespace moire::process {
namespace {

class LogOutput : public testing::Test {
 protected:
  ~LogOutput() override {
    core::log_state = {};
    std::filesystem::remove(file_);
  }
  std::string written() const {
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }
  const std::string file_ = testing::TempDir() + "moire_log_output_test" + std::to_string(getpid()) + ".log";
};

TEST_F(LogOutput, NothingIsFormattedWhenOff) {
  EXPECT_FALSE(core::logs(core::LogLevel::error));
  core::log_error("{}", "nobody hears this");
  start_log(core::LogLevel::off, file_);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(LogOutput, LevelsIncludeThoseBefore) {
  start_log(core::LogLevel::info, file_);
  core::log_error("e");
  core::log_warning("w");
  core::log_info("i {}", 1);
  core::log_debug("d");
  EXPECT_EQ(written(), "error: e\nwarning: w\ninfo: i 1\n");
}

TEST_F(LogOutput, EveryLineOfATextHasItsLevel) {
  start_log(core::LogLevel::info, file_);
  core::log_info("a\nb\n");
  EXPECT_EQ(written(), "info: a\ninfo: b\n");
}

TEST_F(LogOutput, WhatIsKeptIsWrittenLaterAsItWas) {
  start_log(core::LogLevel::debug, file_);
  const core::Log parent = core::log_state;
  keep_log();
  core::log_info("50 % {{}}");
  core::log_debug("two\nlines");
  const std::string kept = kept_log();
  EXPECT_EQ(written(), "");
  core::log_state = parent;
  replay_log(kept);
  EXPECT_EQ(written(), "info: 50 % {}\ndebug: two\ndebug: lines\n");
}

TEST_F(LogOutput, BeginsOnlyLogsAnew) {
  start_log(core::LogLevel::info, file_);
  core::log_info("first");
  start_log(core::LogLevel::info, file_);
  core::log_info("second");
  EXPECT_EQ(written(), "info: second\n");
  std::ofstream(file_) << "description: not a log\n";
  EXPECT_THROW(start_log(core::LogLevel::info, file_), core::RunFailure);
  EXPECT_EQ(written(), "description: not a log\n");
}

TEST_F(LogOutput, AFullDiskIsToldAtTheEnd) {
  start_log(core::LogLevel::info, "/dev/full");
  core::log_info("lost");
  EXPECT_THROW(end_log(), core::RunFailure);
}

TEST_F(LogOutput, AFileThatCannotBeWrittenIsTold) {
  EXPECT_THROW(start_log(core::LogLevel::info, "/dev/null/no.log"), core::RunFailure);
}

}  // namespace
}  // namespace moire::process
