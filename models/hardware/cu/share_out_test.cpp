#include "models/hardware/cu/share_out.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace moire::cu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CuArraySpec groups(std::vector<CuGroupSpec> list) {
  CuArraySpec spec;
  spec.groups = std::move(list);
  return spec;
}

TEST(ShareOut, NobodyWishesAnything) {
  EXPECT_THAT(share_out(groups({{.cus = 4, .count = 2}}), {{}, {}}), ElementsAre(IsEmpty(), IsEmpty()));
}

// Eight CUs of an MI300X are one of each XCD.
TEST(ShareOut, AReservationTakesOneOfEachGroup) {
  const CuArraySpec spec = groups({{.cus = 38, .count = 8}});
  const auto shares = share_out(spec, {{}, {.partition = 8}});
  EXPECT_THAT(shares[1], ElementsAre(0, 38, 76, 114, 152, 190, 228, 266));
  EXPECT_EQ(shares[0].size(), 296);
  EXPECT_EQ(shares[0].front(), 1);
}

// A cluster must be in one group. So a reservation of eight SMs of an H200 is from one GPC, and the next eight SMs are
// from another GPC.
TEST(ShareOut, WithClustersAReservationTakesWholeSteps) {
  CuArraySpec spec = groups({{.cus = 2}, {.cus = 16, .count = 2}});
  spec.cluster_max = 16;
  spec.partition_step = 8;
  const auto shares = share_out(spec, {{.partition = 8}, {.partition = 8}, {}});
  EXPECT_THAT(shares[0], ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(shares[1], ElementsAre(18, 19, 20, 21, 22, 23, 24, 25));
  EXPECT_EQ(shares[2].size(), 18);
  EXPECT_EQ(shares[2].front(), 0) << "too small for a step, so it is dealt out last";
}

TEST(ShareOut, UnequalGroupsGiveInProportion) {
  const CuArraySpec spec = groups({{.cus = 2}, {.cus = 6}, {.cus = 4}});
  // The 6 CUs are 1, 3 and 2 CUs of the three groups.
  EXPECT_THAT(share_out(spec, {{.partition = 6}, {}})[0], ElementsAre(0, 2, 3, 4, 8, 9));
}

TEST(ShareOut, ReservationsAreDisjointAndTheRestIsForTheOthers) {
  const CuArraySpec spec = groups({{.cus = 4, .count = 2}});
  const auto shares = share_out(spec, {{.partition = 2}, {}, {.partition = 2}, {}});
  EXPECT_THAT(shares[0], ElementsAre(0, 4));
  EXPECT_THAT(shares[2], ElementsAre(1, 5));
  EXPECT_THAT(shares[1], ElementsAre(2, 3, 6, 7));
  EXPECT_EQ(shares[3], shares[1]);
}

// Two limits overlap only if the CUs do not suffice for both, and then as little as possible.
TEST(ShareOut, LimitsMeetOnlyWhereTheyHaveTo) {
  const CuArraySpec spec = groups({{.cus = 4, .count = 2}});
  const auto apart = share_out(spec, {{.limit = 6}, {.limit = 2}});
  EXPECT_THAT(apart[0], ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_THAT(apart[1], ElementsAre(3, 7));
  const auto wrapped = share_out(spec, {{.limit = 6}, {.limit = 4}});
  EXPECT_THAT(wrapped[1], ElementsAre(0, 3, 4, 7));
  // A single limit excludes no other queue.
  EXPECT_THAT(share_out(spec, {{.limit = 6}, {}})[1], IsEmpty());
}

}  // namespace
}  // namespace moire::cu
