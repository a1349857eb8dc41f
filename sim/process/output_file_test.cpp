#include "sim/process/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/core/failure.hpp"
#include "sim/process/input_files.hpp"

namespace moire::process {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path().filename().string());
    return all;
  }
  static std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  const fs::path folder_ = testing::TempDir() + "moire_output_file_test" + std::to_string(getpid());
  const fs::path file_ = folder_ / "t.txt";
};

TEST_F(OutputFileTest, IsThereWhenItIsCommitted) {
  write_file(file_, "old");
  {
    OutputFile file(file_);
    file.stream() << "new" << ' ' << 1;
    EXPECT_EQ(text_of(file_), "old");
    file.commit();
    EXPECT_EQ(text_of(file_), "new 1");
  }
  EXPECT_THAT(names(), ElementsAre("t.txt"));
}

TEST_F(OutputFileTest, LeavesNothingWhereItIsNot) {
  { OutputFile(file_).stream() << "half"; }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, HasOneWriterAtATime) {
  OutputFile first(file_);
  EXPECT_THAT([&] { check_can_write(file_); },
              ThrowsMessage<core::RunFailure>(HasSubstr("another process is writing it")));
  first.commit();
  write_file(file_, "second");
  EXPECT_EQ(text_of(file_), "second");
}

TEST_F(OutputFileTest, TakesWhatAKilledWriterLeft) {
  const pid_t child = fork();
  if (child == 0) {
    OutputFile file(file_);
    file.stream() << "more than the next one writes";
    _exit(0);  // without running destructors
  }
  waitpid(child, nullptr, 0);
  EXPECT_THAT(names(), ElementsAre(".t.txt.partial"));
  write_file(file_, "whole");
  EXPECT_EQ(text_of(file_), "whole");
  EXPECT_THAT(names(), ElementsAre("t.txt"));
}

TEST_F(OutputFileTest, RemovesItsOwnAndNotItsParents) {
  OutputFile of_parent(file_);
  const pid_t child = fork();
  if (child == 0) {
    OutputFile own(folder_ / "own");
    remove_temporary_files();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_THAT(names(), ElementsAre(".t.txt.partial"));
  remove_temporary_files();
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(OutputFileTest, RefusesAnInput) {
  write_file(file_, "read");
  fs::create_hard_link(file_, folder_ / "same");
  note_input(folder_ / "same");
  EXPECT_THAT([&] { write_file(file_, ""); },
              ThrowsMessage<core::RunFailure>(HasSubstr("it is an input of this command")));
  may_be_replaced(file_);
  write_file(file_, "anew");
  EXPECT_EQ(text_of(folder_ / "same"), "read");
}

TEST_F(OutputFileTest, TellsWhatCannotBeWritten) {
  const auto written = [](const fs::path& file) { return [file] { write_file(file, "x"); }; };
  EXPECT_THAT(written(""), ThrowsMessage<core::RunFailure>("cannot write '': the name is empty"));
  EXPECT_THAT(written(folder_), ThrowsMessage<core::RunFailure>(HasSubstr(": Is a directory")));
  EXPECT_THAT(written(folder_ / "none" / "x"),
              ThrowsMessage<core::RunFailure>(HasSubstr(": No such file or directory")));
  EXPECT_THAT(written("/dev/full"),
              ThrowsMessage<core::RunFailure>("cannot write '/dev/full': No space left on device"));
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace moire::process
