#include "app/study/told.hpp"

#include <gmock/gmock.h>

namespace moire::study {
namespace {

replay::OperationTimes operation(const char* name, double begin, double end, std::int64_t ranks) {
  replay::OperationTimes times;
  times.name = name;
  times.begin = Time::from_us(begin);
  times.end = Time::from_us(end);
  times.spent = Time::from_us(end - begin) * ranks;
  times.ran = ranks;
  return times;
}

TEST(Told, PartsOfOneNameAreOne) {
  replay::Result result;
  result.operations = {operation("send", 2, 4, 3), operation("gemm", 0, 9, 4), operation("send", 1, 3, 2),
                       operation("send#2", 5, 6, 1)};
  const std::vector<Told> all = told(result);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].parts, 2);
  EXPECT_EQ(all[0].ranks, 3);
  EXPECT_EQ(all[0].times.begin, Time::from_us(1));
  EXPECT_EQ(all[0].times.end, Time::from_us(4));
  EXPECT_EQ(all[0].times.spent, Time::from_us(10));
  EXPECT_EQ(all[1].parts, 1);
  const Words words = words_of(all);
  EXPECT_EQ(words.at("send"), "send");
  EXPECT_EQ(words.at("send#2"), "send_2");
}

}  // namespace
}  // namespace moire::study
