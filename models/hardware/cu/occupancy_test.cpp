#include "models/hardware/cu/occupancy.hpp"

#include <gmock/gmock.h>

namespace moire::cu {
namespace {

using ::testing::StrEq;

CuArraySpec cu_of(std::int64_t threads, std::int64_t registers, double lds, std::int64_t workgroups) {
  CuArraySpec spec;
  spec.groups = {{.cus = 4}};
  spec.wavefront = 32;
  spec.threads_per_cu = threads;
  spec.registers_per_cu = registers;
  spec.register_granularity = 8;
  spec.lds_per_cu = {lds};
  spec.workgroups_per_cu = workgroups;
  return spec;
}

// A CU as in configs/hardware/mi210.yaml.
CuArraySpec mi210() {
  CuArraySpec spec = cu_of(2048, 131072, 65536, 32);
  spec.wavefront = 64;
  return spec;
}

program::WorkgroupResources workgroup(std::int64_t threads, std::int64_t registers, double lds = 0) {
  return {.threads = threads, .registers_per_thread = registers, .lds = {lds}};
}

TEST(Occupancy, IsTheScarcestResource) {
  const CuArraySpec spec = cu_of(2048, 65536, 228 * 1024, 32);
  EXPECT_EQ(occupancy(spec, workgroup(256, 16)), 8);  // 2048 / 256
  EXPECT_THAT(limiting_resource(spec, workgroup(256, 16)), StrEq("threads"));
  EXPECT_EQ(occupancy(spec, workgroup(256, 64)), 4);  // 65536 / (256 x 64)
  EXPECT_THAT(limiting_resource(spec, workgroup(256, 64)), StrEq("registers"));
  EXPECT_EQ(occupancy(spec, workgroup(256, 16, 100 * 1024)), 2);
  EXPECT_THAT(limiting_resource(spec, workgroup(256, 16, 100 * 1024)), StrEq("lds"));
  EXPECT_EQ(occupancy(spec, workgroup(32, 16)), 32);  // threads would allow 64
  EXPECT_THAT(limiting_resource(spec, workgroup(32, 16)), StrEq("workgroup slots"));
}

TEST(Occupancy, OneByteOfLdsTooMuchCostsAWorkgroup) {
  const CuArraySpec spec = cu_of(2048, 65536, 65536, 32);
  EXPECT_EQ(occupancy(spec, workgroup(64, 8, 16384)), 4);
  EXPECT_EQ(occupancy(spec, workgroup(64, 8, 16385)), 3);
}

TEST(Occupancy, RegistersAreAllocatedInSteps) {
  const CuArraySpec spec = cu_of(2048, 65536, 65536, 32);
  EXPECT_EQ(footprint(spec, workgroup(256, 33)).registers, 256 * 40);
  EXPECT_EQ(footprint(spec, workgroup(256, 40)).registers, 256 * 40);
  EXPECT_EQ(footprint(spec, workgroup(256, 41)).registers, 256 * 48);
  EXPECT_EQ(occupancy(spec, workgroup(256, 40)), 6);
  EXPECT_EQ(occupancy(spec, workgroup(256, 41)), 5);
}

TEST(Occupancy, ThreadsAreWholeWavefronts) {
  const Footprint one = footprint(mi210(), workgroup(65, 32));
  EXPECT_EQ(one.threads, 128);
  EXPECT_EQ(one.registers, 128 * 32);
}

TEST(Occupancy, IsZeroWhereOneWorkgroupDoesNotFit) {
  const CuArraySpec spec = cu_of(1024, 65536, 65536, 32);
  EXPECT_EQ(occupancy(spec, workgroup(1025, 8)), 0);
  EXPECT_EQ(occupancy(spec, workgroup(512, 136)), 0);
  EXPECT_EQ(occupancy(spec, workgroup(64, 8, 65537)), 0);
  EXPECT_THAT(limiting_resource(spec, workgroup(64, 8, 65537)), StrEq("lds"));
}

// The registers of the communication API cost the fused embedding kernel of arXiv 2305.06942 12.5 % of its occupancy.
TEST(Occupancy, FusedEmbeddingOnMi210HoldsAnEighthLess) {
  EXPECT_EQ(occupancy(mi210(), workgroup(256, 32)), 8);
  EXPECT_EQ(occupancy(mi210(), workgroup(256, 64)), 8);
  EXPECT_EQ(occupancy(mi210(), workgroup(256, 65)), 7);
  EXPECT_EQ(occupancy(mi210(), workgroup(256, 72)), 7);
  EXPECT_EQ(occupancy(mi210(), workgroup(256, 73)), 6);
}

}  // namespace
}  // namespace moire::cu
