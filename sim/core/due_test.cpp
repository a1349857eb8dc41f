#include "sim/core/due.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace moire::core {
namespace {

using Entry = std::pair<std::uint64_t, std::uint64_t>;
using Queue = Due<Entry, std::less<Entry>>;

// Most entries are added in rising order, a quarter come earlier, and erase_if() removes some before they are due.
TEST(Due, TheFrontIsTheFirstOfAll) {
  std::mt19937_64 random(5);
  Queue due;
  std::vector<Entry> all;
  for (std::uint64_t number = 0; number < 20000; ++number) {
    if (random() % 9 < 5) {
      all.emplace_back(random() % 4 == 0 ? random() % (number + 1) : number, number);
      due.push(all.back());
    } else if (!all.empty()) {
      const auto first = std::min_element(all.begin(), all.end());
      EXPECT_EQ(due.front(), *first);
      due.pop();
      all.erase(first);
    }
    if (random() % 500 == 0) {
      const auto odd = [](const Entry& entry) { return entry.first % 2 == 1; };
      std::erase_if(all, odd);
      due.erase_if(odd);
    }
    ASSERT_EQ(due.size(), all.size());
  }
  std::vector<Entry> seen;
  due.for_each([&](const Entry& entry) { seen.push_back(entry); });
  std::sort(seen.begin(), seen.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(seen, all);
  due.clear();
  EXPECT_TRUE(due.empty());
}

}  // namespace
}  // namespace moire::core
