#include "models/hardware/cu/cu_array.hpp"

#include <gmock/gmock.h>

namespace moire::cu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Three groups: CUs 0-1, CUs 2-5 (5 is filled first) and CUs 6-9 (9 is filled first). Each CU has 1,024 threads.
CuArraySpec small() {
  CuArraySpec spec;
  spec.groups = {{.cus = 2}, {.cus = 4, .count = 2, .filled_first = 1}};
  spec.threads_per_cu = 1024;
  spec.registers_per_cu = 65536;
  spec.lds_per_cu = {65536};
  spec.workgroups_per_cu = 4;
  return spec;
}
constexpr Footprint quarter{256, 8192, 0};
constexpr Footprint whole{1024, 8192, 0};

TEST(CuArray, NumbersCusGroupByGroup) {
  const CuArray array(small());
  EXPECT_EQ(array.cus(), 10);
  EXPECT_EQ(array.groups(), 3);
  EXPECT_EQ(array.group_of(1), 0);
  EXPECT_EQ(array.group_of(2), 1);
  EXPECT_EQ(array.group_of(6), 2);
}

TEST(CuArray, VisitsGroupsWithFirstFilledCusFirst) {
  EXPECT_THAT(CuArray(small()).visiting_order(), ElementsAre(1, 2, 0));
}

TEST(CuArray, PlacesOnTheLeastLoadedCuThenTheLowestNumber) {
  CuArray array(small());
  std::vector<CuId> where;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(array.place(1, quarter, 1, where));
  EXPECT_THAT(where, ElementsAre(2, 3, 4, 5, 2, 3));
  array.release(5, quarter);
  where.clear();
  ASSERT_TRUE(array.place(1, quarter, 1, where));
  EXPECT_THAT(where, ElementsAre(5));
}

TEST(CuArray, FillsEveryResourceToTheLastUnitAndNotBeyond) {
  CuArray array(small());
  std::vector<CuId> where;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(array.place(0, quarter, 1, where));
  EXPECT_FALSE(array.place(0, quarter, 1, where));
  EXPECT_EQ(where.size(), 8);
  array.release(1, quarter);
  EXPECT_FALSE(array.place(0, {257, 8192, 0}, 1, where));
  EXPECT_FALSE(array.place(0, {256, 65536 - 3 * 8192 + 1, 0}, 1, where));
  EXPECT_FALSE(array.place(0, {256, 8192, 65537}, 1, where));
  EXPECT_TRUE(array.place(0, {256, 65536 - 3 * 8192, 65536}, 1, where));
  EXPECT_EQ(where.back(), 1);
}

TEST(CuArray, HoldsNoMoreWorkgroupsThanItHasSlots) {
  CuArray array(small());
  std::vector<CuId> where;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(array.place(0, {32, 256, 0}, 1, where));
  EXPECT_FALSE(array.place(0, {32, 256, 0}, 1, where));
}

TEST(CuArray, PlacesAClusterWhollyOrNotAtAll) {
  CuArray array(small());
  std::vector<CuId> where;
  ASSERT_TRUE(array.place(1, whole, 1, where));
  where.clear();
  EXPECT_FALSE(array.place(1, whole, 4, where));
  EXPECT_THAT(where, IsEmpty());
  for (const CuId cu : {3, 4, 5}) EXPECT_EQ(array.resident(cu), 0) << cu;
  EXPECT_TRUE(array.place(1, whole, 3, where));
  EXPECT_THAT(where, ElementsAre(3, 4, 5));
}

TEST(CuArray, FirstFilledCusTakeOneWorkgroupWhileTheyAreEmpty) {
  CuArray array(small());
  std::vector<CuId> where;
  EXPECT_FALSE(array.place_on_first_filled(0, quarter, where));
  EXPECT_TRUE(array.place_on_first_filled(1, quarter, where));
  EXPECT_FALSE(array.place_on_first_filled(1, quarter, where));
  EXPECT_TRUE(array.place_on_first_filled(2, quarter, where));
  EXPECT_THAT(where, ElementsAre(5, 9));
}

}  // namespace
}  // namespace moire::cu
