#include "app/study/metrics.hpp"

#include <gmock/gmock.h>

namespace moire::study {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(std::vector<Metric> metrics) {
  tell_apart(metrics);
  std::vector<std::string> list;
  for (const Metric& metric : metrics) list.push_back(metric.name);
  return list;
}

TEST(Metrics, NamesAreRenderedFromWhatTheyAreOf) {
  EXPECT_EQ(Metric("time_us", 1).name, "time_us");
  EXPECT_EQ(Metric("<operation>_kernel_us", 1, "gemm_2").name, "gemm_2_kernel_us");
  EXPECT_EQ(Metric("<operation>_<phase>_mean_us", 1, "gather", "store to peer", true).name,
            "recorded_gather_store_to_peer_mean_us");
  EXPECT_ANY_THROW(Metric("tme_us", 1)) << "no metric has this name";
}

TEST(Metrics, WordsOfSeveralAreDifferent) {
  EXPECT_THAT(metric_words({"a b", "a_b", "A-B", "a_b_2", "c#2"}),
              ElementsAre("a_b", "a_b_2", "a_b_3", "a_b_2_2", "c_2"));
}

// If a queue and an operation have the same name, the metric of the queue keeps its name, and that of the operation
// gets another one.
TEST(Metrics, OfAnOperationAndAQueueAreToldApart) {
  const std::vector<Metric> metrics = {
      {"time_us", 9}, {"<operation>_us", 1, "gemm"}, {"<operation>_us", 2, "time"}, {"<queue>_us", 3, "gemm"}};
  EXPECT_THAT(names(metrics), ElementsAre("time_us", "gemm_operation_us", "time_operation_us", "gemm_us"));
}

// The time of an operation "x_begin" and the begin of an operation "x" would both be called "x_begin_us".
TEST(Metrics, OfTwoOperationsAreToldApart) {
  const std::vector<Metric> metrics = {
      {"<operation>_begin_us", 1, "x"}, {"<operation>_us", 2, "x_begin"}, {"<operation>_us", 3, "x_begin_2"}};
  EXPECT_THAT(names(metrics), ElementsAre("x_begin_us", "x_begin_2_us", "x_begin_2_2_us"));
}

TEST(Metrics, AreFoundByKindAndSubject) {
  const std::vector<Metric> metrics = {{"<operation>_kernel_us", 1, "a", "", true}, {"<operation>_kernel_us", 2, "a"}};
  EXPECT_EQ(value_of(metrics, "<operation>_kernel_us", "a"), 2);
  EXPECT_EQ(value_of(metrics, "recorded_a_kernel_us"), 1);
  EXPECT_EQ(value_of(metrics, "<operation>_us", "a"), std::nullopt);
}

}  // namespace
}  // namespace moire::study
