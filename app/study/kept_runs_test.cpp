#include "app/study/kept_runs.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>

namespace moire::study {
namespace {

const ChildReport report{.text = "a result of some length", .wall_seconds = 1, .peak_memory_bytes = 1};

std::filesystem::path fresh(const char* name) {
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove(file);
  return file;
}

// Simulates a full disk: while an object exists, no file can grow beyond this number of bytes.
class FullAt {
 public:
  explicit FullAt(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullAt() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullAt(const FullAt&) = delete;
  FullAt& operator=(const FullAt&) = delete;

 private:
  rlimit before_{};
};

TEST(KeptRuns, AreTakenUpWithTheSameKeyOnly) {
  const auto file = fresh("kept_runs");
  { KeptRuns(file, "key", false).keep(2, report, nullptr); }
  {
    const KeptRuns again(file, "key", true);
    ASSERT_NE(again.known(2, nullptr), nullptr);
    EXPECT_EQ(again.known(2, nullptr)->text, report.text);
    EXPECT_EQ(again.known(1, nullptr), nullptr);
  }
  const KeptRuns other(file, "other", true);
  EXPECT_EQ(other.known(), 0U);
}

TEST(KeptRuns, AnEntryThatADiskDidNotTakeHidesNoLaterOne) {
  const auto file = fresh("kept_runs_full");
  {
    KeptRuns runs(file, "key", false);
    runs.keep(0, report, nullptr);
    {
      const FullAt full(std::filesystem::file_size(file) + 10);
      runs.keep(1, report, nullptr);
    }
    runs.keep(2, report, nullptr);
  }
  KeptRuns again(file, "key", true);
  EXPECT_NE(again.known(0, nullptr), nullptr);
  EXPECT_EQ(again.known(1, nullptr), nullptr);
  EXPECT_NE(again.known(2, nullptr), nullptr);
  again.not_needed();
}

// The disk may fill up while the first line is written. The file must then stay empty, because later commands would
// refuse a file with half of a first line as one of another program.
TEST(KeptRuns, AFileWhoseFirstLineADiskDidNotTakeIsLeftEmpty) {
  const auto file = fresh("kept_runs_head");
  {
    std::optional<KeptRuns> runs;
    {
      const FullAt full(5);
      runs.emplace(file, "key", false);
    }
    runs->keep(0, report, nullptr);
    EXPECT_EQ(std::filesystem::file_size(file), 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace moire::study
