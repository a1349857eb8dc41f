#include <gmock/gmock.h>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::measurements {
namespace {

using ::testing::HasSubstr;

Measurements file(const std::string& name, const std::string& rows, const std::string& gpu = "A GPU", int gpus = 4) {
  config::Diagnostics diagnostics;
  auto measurements = read_measurements(name,
                                        "# moire-measurements 1\n# gpus: " + std::to_string(gpus) + "\n# gpu: " + gpu +
                                            "\n# driver: of " + name +
                                            "\n# date: 2026-11-21T10:00:00Z\n# command: collect\n"
                                            "benchmark,parameters,metric,value,unit,repetitions,low,high\n" +
                                            rows,
                                        diagnostics);
  EXPECT_TRUE(measurements) << diagnostics.str();
  return measurements.value_or(Measurements{});
}

std::string errors_of(Measurements first, Measurements later) {
  config::Diagnostics diagnostics;
  join(first, std::move(later), diagnostics);
  return diagnostics.str();
}

const std::string call = "launch,,host_call,2.5,us,9,2.4,2.75\n";
const std::string gap = "launch,wgs=1,queue_gap,1540,ns,9,1510,1570\n";

TEST(JoinedMeasurements, KeepTheFirstHeaderAndTheirOwnPlaces) {
  config::Diagnostics diagnostics;
  Measurements joined = file("a.csv", call);
  join(joined, file("b.csv", "launch,wgs=2,queue_gap,1,ns,1,1,1\n" + gap, "A GPU", 2), diagnostics);
  join(joined, file("c.csv", "launch,wgs=3,queue_gap,1,ns,1,1,1\n"), diagnostics);
  ASSERT_EQ(diagnostics.str(), "");
  EXPECT_EQ(joined.gpus, 4);
  EXPECT_EQ(joined.driver, "of a.csv");
  ASSERT_EQ(joined.values.size(), 4U);
  EXPECT_EQ(joined.place(joined.values[0]).str(), "a.csv:8:1");
  EXPECT_EQ(joined.place(joined.values[2]).str(), "b.csv:9:1");
  EXPECT_EQ(joined.place(joined.values[3]).str(), "c.csv:8:1");
  EXPECT_EQ(joined.collection(0).gpus, 4);
  EXPECT_EQ(joined.collection(1).gpus, 2);
  EXPECT_EQ(joined.collection(1).driver, "of b.csv");
  EXPECT_EQ(joined.find("launch", "queue_gap", {{"wgs", 1}}), &joined.values[2]);
}

TEST(JoinedMeasurements, AreOfOneKindOfGpu) {
  EXPECT_EQ(
      errors_of(file("a.csv", call), file("b.csv", gap, "Another")),
      "b.csv:3:8: this was measured on 'Another', but the first file on 'A GPU'; join files of one kind of GPU\n");
}

TEST(JoinedMeasurements, MeasureNothingTwice) {
  EXPECT_EQ(errors_of(file("a.csv", call), file("b.csv", gap + call)),
            "b.csv:9:1: host_call of launch was already measured in a.csv:8:1; remove one of the two rows\n");
  std::string many;
  for (int wgs = 1; wgs <= 30; ++wgs) many += "launch,wgs=" + std::to_string(wgs) + ",queue_gap,1,ns,1,1,1\n";
  const std::string errors = errors_of(file("a.csv", many), file("a.csv", many));
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 21);
  EXPECT_THAT(errors, HasSubstr("a.csv:28:1: too many errors"));
}

TEST(JoinedMeasurements, MaySayAgainWhatTheMachineIs) {
  const std::string machine =
      "property,,sms,8,1,1,8,8\ntimer,,resolution,32,ns,1,32,32\npower,when=0,power,70,W,1,70,70\n";
  const std::string again =
      "property,,sms,8,1,1,8,8\nproperty,,clock,1000,MHz,1,1000,1000\ntimer,,resolution,64,ns,1,64,64\n"
      "power,when=0,power,80,W,1,80,80\n";
  config::Diagnostics diagnostics;
  Measurements joined = file("a.csv", machine);
  join(joined, file("b.csv", again), diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  ASSERT_EQ(joined.values.size(), 4U);
  EXPECT_EQ(joined.find("timer", "resolution", {})->value, 32);
  EXPECT_EQ(joined.find("property", "clock", {})->file, 1U);  // taken from the second file, as the first lacks it
}

}  // namespace
}  // namespace moire::measurements
