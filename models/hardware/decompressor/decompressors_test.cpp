#include "models/hardware/decompressor/decompressors.hpp"

#include <gtest/gtest.h>

namespace moire::decompressor {
namespace {

struct Ends final : core::EventSink {
  explicit Ends(core::RunLoop& of) : loop(of) {}
  void fire(std::uint64_t payload) override {
    order.push_back(payload);
    last = loop.now();
  }
  core::RunLoop& loop;
  std::vector<std::uint64_t> order;
  Time last;
};

// Returns when the last of `buffers` buffers of 1 MB is decompressed. All are submitted at the start.
Time time_of(std::int64_t buffers, std::int64_t engines, Time ready = {}) {
  core::RunLoop loop;
  part::Site site(loop, 1, 1, {}, {});
  const DecompressorSpec spec{.engines = engines,
                              .bandwidth = BytesPerSecond{100e9},
                              .largest = Bytes{4e6},
                              .command = Time::from_us(3),
                              .formats = {"lz4"},
                              .bytes_in_flight = Bytes{1e6}};
  auto made = std::make_unique<Decompressors>(site, spec);
  Decompressors& part = *made;
  site.add(std::move(made));
  Ends ends(loop);
  for (std::int64_t b = 0; b < buffers; ++b)
    part.submit({.copy = {.rank = 0, .peer = 0, .bytes = Bytes{1e6}, .ratio = 2},
                 .ready = ready,
                 .sink = &ends,
                 .payload = static_cast<std::uint64_t>(b)});
  loop.run();
  EXPECT_EQ(ends.order.size(), static_cast<std::size_t>(buffers));
  EXPECT_TRUE(std::is_sorted(ends.order.begin(), ends.order.end())) << "first come, first served";
  return ends.last;
}

TEST(Decompressors, ABufferTakesItsCommandAndItsPlainBytes) {
  EXPECT_EQ(time_of(1, 1), Time::from_us(3 + 10));
  EXPECT_EQ(time_of(1, 1, Time::from_us(5)), Time::from_us(5 + 3 + 10)) << "not before it is there";
}

TEST(Decompressors, BuffersWaitForAnEngine) {
  EXPECT_EQ(time_of(3, 1), Time::from_us(3 * 13));
  EXPECT_EQ(time_of(3, 2), Time::from_us(2 * 13));
  EXPECT_EQ(time_of(3, 4), Time::from_us(13));
}

}  // namespace
}  // namespace moire::decompressor
