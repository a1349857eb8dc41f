#include "app/study/progress.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace moire::study {
namespace {

TEST(Progress, TellsShareTimeRateAndWhatIsLeft) {
  EXPECT_EQ(told(0.25, Time{1'200'000'000}, 0.9e6, 20), "25 %, 1.200 ms simulated, 0.90 M events/s, 1 min 0 s left");
  EXPECT_EQ(told(0.5, Time{0}, 2e6, 200), "50 %, 0.000 ms simulated, 2.00 M events/s, 3 min 20 s left");
  EXPECT_EQ(told(0.001, Time{0}, 2e6, 200), "0 %, 0.000 ms simulated, 2.00 M events/s");
}

TEST(Progress, SeesWhatAnotherProcessTells) {
  Progress progress(Progress::Form::lines);
  progress.expect({100, 100});
  const pid_t child = fork();
  if (child == 0) {
    progress.pulse(1)->steps.store(42);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(progress.pulse(0)->steps.load(), 0U);
  EXPECT_EQ(progress.pulse(1)->steps.load(), 42U);
}

}  // namespace
}  // namespace moire::study
