#include "sim/core/log_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/core/failure.hpp"

namespace moire::core {
namespace {

class LogOutput : public testing::Test {
 protected:
  ~LogOutput() override {
    log_state = {};
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
  EXPECT_FALSE(logs(LogLevel::error));
  log_error("{}", "nobody hears this");
  start_log(LogLevel::off, file_);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(LogOutput, LevelsIncludeThoseBefore) {
  start_log(LogLevel::info, file_);
  log_error("e");
  log_warning("w");
  log_info("i {}", 1);
  log_debug("d");
  EXPECT_EQ(written(), "error: e\nwarning: w\ninfo: i 1\n");
}

TEST_F(LogOutput, EveryLineOfATextHasItsLevel) {
  start_log(LogLevel::info, file_);
  log_info("a\nb\n");
  EXPECT_EQ(written(), "info: a\ninfo: b\n");
}

TEST_F(LogOutput, WhatIsKeptIsWrittenLaterAsItWas) {
  start_log(LogLevel::debug, file_);
  const Log parent = log_state;
  keep_log();
  log_info("50 % {{}}");
  log_debug("two\nlines");
  const std::string kept = kept_log();
  EXPECT_EQ(written(), "");
  log_state = parent;
  replay_log(kept);
  EXPECT_EQ(written(), "info: 50 % {}\ndebug: two\ndebug: lines\n");
}

TEST_F(LogOutput, BeginsOnlyLogsAnew) {
  start_log(LogLevel::info, file_);
  log_info("first");
  start_log(LogLevel::info, file_);
  log_info("second");
  EXPECT_EQ(written(), "info: second\n");
  std::ofstream(file_) << "description: not a log\n";
  EXPECT_THROW(start_log(LogLevel::info, file_), RunFailure);
  EXPECT_EQ(written(), "description: not a log\n");
}

TEST_F(LogOutput, AFullDiskIsToldAtTheEnd) {
  start_log(LogLevel::info, "/dev/full");
  log_info("lost");
  EXPECT_THROW(end_log(), RunFailure);
}

TEST_F(LogOutput, AFileThatCannotBeWrittenIsTold) {
  EXPECT_THROW(start_log(LogLevel::info, "/dev/null/no.log"), RunFailure);
}

}  // namespace
}  // namespace moire::core
