#include "models/hardware/link/stripes.hpp"

#include <gmock/gmock.h>

namespace moire::link {
namespace {

PortSpec striped() {
  PortSpec port;
  port.stripe = Bytes{2048};
  port.stripe_ways = 3;
  port.stripe_cost = 0.72;
  return port;
}

double busiest(std::int64_t run, std::int64_t stride, std::int64_t offset = 0) {
  return (strided_cost(striped(), offset, run, stride) - 1) / 0.72 + 1. / 3;
}

TEST(Stripes, RowsThatMeetAllGroupsAlikeCostNothing) {
  for (const std::int64_t stride : {512, 1024, 2048, 4096, 8192, 16384, 28672, 65536})
    EXPECT_NEAR(busiest(512, stride), 1. / 3, 1e-12) << stride;
}

TEST(Stripes, RowsAWholeTurnApartMeetOneGroup) {
  for (const std::int64_t stride : {6144, 12288, 24576, 36864, 98304}) EXPECT_NEAR(busiest(512, stride), 1, 1e-12);
  EXPECT_NEAR(busiest(512, 3072), 0.5, 1e-12) << "addresses 0 and 3072 of each turn";
}

// Runs of 3, 4, 5, 6, 7 and 16 KiB of each 24 KiB.
TEST(Stripes, LongerRunsMeetMoreGroups) {
  EXPECT_NEAR(busiest(3072, 24576), 2. / 3, 1e-12);
  EXPECT_NEAR(busiest(4096, 24576), 1. / 2, 1e-12);
  EXPECT_NEAR(busiest(5120, 24576), 2. / 5, 1e-12);
  EXPECT_NEAR(busiest(6144, 24576), 1. / 3, 1e-12);
  EXPECT_NEAR(busiest(7168, 24576), 3. / 7, 1e-12);
  EXPECT_NEAR(busiest(16384, 24576), 3. / 8, 1e-12);
  EXPECT_NEAR(busiest(1024, 24576, 1536), 0.5, 1e-12) << "half of each run is in the next stripe";
}

// Measured on two H200 (traces/h200x2/peer_stride.measurements.csv): 367 GB/s if all groups are used alike, 249 GB/s
// with runs of 512 B, 6 KiB apart, 297 and 327 GB/s with runs of 3 and 4 KiB, 24 KiB apart.
TEST(Stripes, AsMeasuredOnH200) {
  EXPECT_NEAR(367 / strided_cost(striped(), 0, 512, 6144), 249, 3);
  EXPECT_NEAR(367 / strided_cost(striped(), 0, 3072, 24576), 297, 3);
  EXPECT_NEAR(367 / strided_cost(striped(), 0, 4096, 24576), 327, 3);
}

// Bytes of several kinds of rows even out: three columns of 2 KiB meet three groups.
TEST(Stripes, DifferentRowsAddUp) {
  const PortSpec port = striped();
  StripedBytes bytes(port, 12288);
  bytes.add(0, 2048, 100);
  EXPECT_NEAR(bytes.time(), 148, 1e-9);
  bytes.add(2048, 2048, 50);
  EXPECT_NEAR(bytes.time(), 150 + 0.72 * (100 - 50), 1e-9);
  StripedBytes third(port, 12288);
  third.add(4096, 2048, 1);
  bytes.add(third, 100);
  bytes.add(2048, 2048, 50);
  EXPECT_NEAR(bytes.bytes(), 300, 1e-9);
  EXPECT_NEAR(bytes.time(), 300, 1e-9);
  const PortSpec even;
  StripedBytes alike(even, 12288);
  alike.add(0, 2048, 100);
  EXPECT_NEAR(alike.time(), 100, 1e-9) << "a port without stripes";
}

// Measured on two H200 (traces/h200x2/peer_rows.measurements.csv): rows of 16 to 192 B, 1,024 B apart. Rows of 128 B
// are stored at 369 GB/s.
TEST(Packets, ShortRowsTakeLonger) {
  PortSpec port;
  EXPECT_EQ(packet_cost(port, 64, 1024), 1) << "costs nothing unless a file says so";
  port.header = Bytes{16};
  EXPECT_EQ(packet_cost(port, 128, 128), 1);
  EXPECT_EQ(packet_cost(port, 512, 1024), 1);
  for (const auto& [row, measured] : {std::pair{16, 209}, {32, 279}, {64, 335}, {96, 352}, {160, 343}, {192, 353}})
    EXPECT_NEAR(369 / packet_cost(port, row, 1024), measured, 4) << row;
}

// Rows of 48 B that begin at each multiple of 16 B in a packet need two packets at two of these eight places.
TEST(Packets, SomeRowsNeedAnotherPacket) {
  PortSpec port;
  port.header = Bytes{16};
  EXPECT_NEAR(packet_cost(port, 48, 48) * 144 / 128, 1 + 16. * 1.25 / 48, 1e-12);
  EXPECT_NEAR(packet_cost(port, 48, 1024) * 144 / 128, 1 + 16. / 48, 1e-12);
}

// A cost is between that of even use and that of one group, for any sizes.
TEST(Stripes, AnySizes) {
  for (std::int64_t run = 16; run < 20000; run = run * 3 / 2 + 16) {
    for (std::int64_t stride = run; stride < 60000; stride = stride * 5 / 4 + 48) {
      const double share = busiest(run, stride, run % 700);
      EXPECT_GE(share, 1. / 3 - 1e-12) << run << " " << stride;
      EXPECT_LE(share, 1 + 1e-12) << run << " " << stride;
    }
  }
}

}  // namespace
}  // namespace moire::link
