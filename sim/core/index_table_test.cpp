#include "sim/core/index_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace moire::core {
namespace {

TEST(IndexTable, FindsNothingInAnEmptyTable) {
  const IndexTable table;
  EXPECT_EQ(table.find(7, [](IndexTable::Index) { return true; }), IndexTable::none);
}

TEST(IndexTable, TriesOnlyIndicesWithTheHash) {
  IndexTable table;
  table.insert(1, 10);
  table.insert(1 + 64, 11);  // the same home as 1
  table.insert(1, 12);
  std::vector<IndexTable::Index> tried;
  const auto look = [&](IndexTable::Index index) {
    tried.push_back(index);
    return index == 12;
  };
  EXPECT_EQ(table.find(1, look), 12U);
  EXPECT_EQ(tried, (std::vector<IndexTable::Index>{10, 12}));
}

// Few different hashes, so that entries move when others are deleted. A map is the judge.
TEST(IndexTable, ChangesAtRandomAgreeWithAMap) {
  std::mt19937 random(1);
  for (const std::uint32_t hashes : {1U, 8U, 60U, 100'000U}) {
    IndexTable table;
    std::map<IndexTable::Index, std::uint64_t> map;  // hash by index
    const auto hash_of = [&](IndexTable::Index index) { return std::uint64_t{index % hashes} * 0x9E3779B1U; };
    for (int change = 0; change < 4000; ++change) {
      const IndexTable::Index index = static_cast<IndexTable::Index>(random() % 300);
      if (map.contains(index)) {
        table.erase(hash_of(index), index);
        map.erase(index);
      } else {
        table.insert(hash_of(index), index);
        map.emplace(index, hash_of(index));
      }
      ASSERT_EQ(table.size(), map.size());
      const IndexTable::Index other = static_cast<IndexTable::Index>(random() % 300);
      ASSERT_EQ(table.find(hash_of(other), [&](IndexTable::Index at) { return at == other; }),
                map.contains(other) ? other : IndexTable::none);
    }
  }
}

}  // namespace
}  // namespace moire::core
