#include "sim/core/load_history.hpp"

#include <gtest/gtest.h>

namespace moire::core {
namespace {

constexpr double unit_per_ps = 1e12;  // units per second

TEST(LoadHistory, AddsUpWhatWasServed) {
  LoadHistory history;
  history.look_back(Time{1000});
  history.change(Time{0}, 2 * unit_per_ps);
  history.change(Time{100}, 5 * unit_per_ps);
  history.change(Time{100}, 0);  // the last change of an instant counts
  history.change(Time{300}, unit_per_ps);
  EXPECT_DOUBLE_EQ(history.served(Time{50}), 100);
  EXPECT_DOUBLE_EQ(history.served(Time{100}), 200);
  EXPECT_DOUBLE_EQ(history.served(Time{250}), 200);
  EXPECT_DOUBLE_EQ(history.served(Time{400}), 300);
  EXPECT_DOUBLE_EQ(history.served(Time{-10}), 0) << "before the first change";
}

// A short window must not change what served() returns within it.
TEST(LoadHistory, RemembersItsWindow) {
  LoadHistory all, recent;
  all.look_back(Time{1'000'000});
  recent.look_back(Time{50});
  recent.look_back(Time{20});  // changes nothing
  for (std::int64_t now = 0; now < 5000; now += 7 + now % 13) {
    const double load = static_cast<double>(now * now % 11 / 3);  // some changes are none
    all.change(Time{now}, load * unit_per_ps);
    recent.change(Time{now}, load * unit_per_ps);
    for (const std::int64_t ago : {0, 1, 20, 49, 50})
      ASSERT_DOUBLE_EQ(recent.served(Time{now - ago}), all.served(Time{now - ago})) << now << " - " << ago;
  }
}

}  // namespace
}  // namespace moire::core
