#include "app/evidence/measurements/measurements.hpp"

#include <gmock/gmock.h>

namespace moire::measurements {
namespace {

using ::testing::HasSubstr;

const std::string header =
    "# moire-measurements 1\n# gpu: A GPU\n# gpus: 2\n# driver: 1.2\n# date: 2026-11-21T10:00:00Z\n"
    "# command: collect, twice\n# room: 22 C\n"
    "benchmark,parameters,metric,value,unit,repetitions,low,high\n";

struct Read {
  std::optional<Measurements> measurements;
  std::string errors;
};

Read read(const std::string& text) {
  config::Diagnostics diagnostics;
  Read out;
  out.measurements = read_measurements("m.csv", text, diagnostics);
  out.errors = diagnostics.str();
  return out;
}

std::string errors_of(const std::string& row) { return read(header + row + "\n").errors; }

TEST(Measurements, AreReadWithTheirHeader) {
  const Read good = read(header +
                         "launch,,host_call,2.5,us,9,2.4,2.75\n"
                         "hbm_read,wgs=132 wgs_per_sm=1 in_flight_bytes=32768,bandwidth,4200,GB/s,5,4190,4210\n");
  ASSERT_EQ(good.errors, "");
  ASSERT_TRUE(good.measurements);
  const Measurements& m = *good.measurements;
  EXPECT_EQ(m.gpu, "A GPU");
  EXPECT_EQ(m.gpus, 2);
  EXPECT_EQ(m.header.back(), (std::pair<std::string, std::string>{"room", "22 C"}));
  ASSERT_EQ(m.values.size(), 2U);
  EXPECT_EQ(m.values[0].line, 9);
  EXPECT_EQ(m.values[0].low, 2.4);
  EXPECT_EQ(m.values[1].repetitions, 5);
  EXPECT_EQ(m.place(m.values[1]).str(), "m.csv:10:1");
  EXPECT_EQ(m.find("hbm_read", "bandwidth", {{"wgs", 132}, {"wgs_per_sm", 1}, {"in_flight_bytes", 32768}}),
            &m.values[1]);
  EXPECT_EQ(m.find("hbm_read", "bandwidth", {{"wgs", 1}}), nullptr);
  EXPECT_THAT(m.all("launch", "host_call"), ::testing::ElementsAre(&m.values[0]));
}

TEST(Measurements, AreKnownByTheirName) {
  EXPECT_TRUE(is_measurements("a/h200.measurements.csv"));
  EXPECT_FALSE(is_measurements("a/h200.csv"));
}

TEST(Measurements, EveryFieldIsChecked) {
  EXPECT_EQ(errors_of("lunch,,host_call,2.5,us,9,2.4,2.75"),
            "m.csv:9:1: unknown benchmark 'lunch'; did you mean 'launch'?\n");
  EXPECT_EQ(errors_of("launch,,host_cal,2.5,us,9,2.4,2.75"),
            "m.csv:9:9: unknown metric 'host_cal' of launch; did you mean 'host_call'?\n");
  EXPECT_EQ(errors_of("launch,,host_call,2.5,ns,9,2.4,2.75"),
            "m.csv:9:23: the unit of host_call is 'ns'; write 'us', the unit in which it is measured\n");
  EXPECT_EQ(errors_of("launch,,host_call,fast,us,9,2.4,2.75"),
            "m.csv:9:19: value is 'fast': no number; write a number, 0 or more, in the unit of the row\n");
  EXPECT_THAT(errors_of("launch,,host_call,inf,us,9,2.4,2.75"), HasSubstr("9:19: value is 'inf': not finite"));
  EXPECT_THAT(errors_of("launch,,host_call,nan,us,9,2.4,2.75"), HasSubstr("9:19: value is 'nan': not finite"));
  EXPECT_THAT(errors_of("launch,,host_call,-2,us,9,2.4,2.75"), HasSubstr("9:19: value is '-2': negative"));
  EXPECT_EQ(errors_of("launch,,host_call,2.5,us,0,2.4,2.75"), "m.csv:9:26: repetitions is '0'; write 1 or more\n");
  EXPECT_EQ(errors_of("launch,,host_call,2.5,us,9,2.6,2.75"),
            "m.csv:9:28: low 2.6 is above the value 2.5; write the smallest of the repetitions as low\n");
  EXPECT_EQ(errors_of("launch,,host_call,2.5,us,9,2.4,2.45"),
            "m.csv:9:32: high 2.45 is below the value 2.5; write the largest of the repetitions as high\n");
  EXPECT_THAT(errors_of("launch,,host_call,2.5,us,9,2.4"), HasSubstr("9:1: the row has 7 fields, not 8"));
  EXPECT_THAT(errors_of("launch,,host_call,2.5,us,9,2.4,2.75,more"), HasSubstr("9:1: the row has 9 fields, not 8"));
}

TEST(Measurements, ParametersAreThoseOfTheBenchmark) {
  EXPECT_EQ(errors_of("launch,wg=1,queue_gap,1,ns,1,1,1"),
            "m.csv:9:8: unknown parameter 'wg' of launch; launch takes no parameters, or wgs\n");
  EXPECT_EQ(errors_of("dispatch,,slot_refill,1,ns,1,1,1"),
            "m.csv:9:10: the parameters of dispatch are ''; dispatch takes wgs_per_sm\n");
  EXPECT_EQ(errors_of("launch,wgs=1 wgs=2,queue_gap,1,ns,1,1,1"),
            "m.csv:9:14: the parameter 'wgs' appears twice; state it once\n");
  EXPECT_THAT(errors_of("launch,wgs=one,queue_gap,1,ns,1,1,1"), HasSubstr("9:12: the parameter 'wgs' is 'one'"));
  EXPECT_THAT(errors_of("launch,wgs,queue_gap,1,ns,1,1,1"), HasSubstr("9:8: the parameter 'wgs' is not 'name=number'"));
  EXPECT_THAT(errors_of("launch,wgs=1  wgs=2,queue_gap,1,ns,1,1,1"), HasSubstr("9:14: the parameter '' is not"));
}

TEST(Measurements, NothingIsMeasuredTwice) {
  EXPECT_EQ(errors_of("launch,,host_call,2.5,us,9,2.4,2.75\nlaunch,,host_call,3,us,9,2,4"),
            "m.csv:10:1: host_call of launch was already measured in line 9; state each value once: the median of its "
            "repetitions\n");
}

TEST(Measurements, TheHeaderIsComplete) {
  EXPECT_THAT(read("").errors, HasSubstr("m.csv: the file is empty"));
  EXPECT_THAT(read("gpu,bandwidth\n").errors, HasSubstr("m.csv:1:1: this is 'gpu,bandwidth', not a measurements file"));
  EXPECT_EQ(read("# moire-measurements 1\n# gpu: x\n# gpus: 0\n# gpu: y\n#\n"
                 "benchmark,parameters,metric,value,unit,repetitions,low,high\n")
                .errors,
            "m.csv:3:9: gpus is '0'; write 1 to 72\n"
            "m.csv:4:3: the header states 'gpu' twice; write each key once\n"
            "m.csv:5:1: '#' is not a header line; write '# key: value'\n"
            "m.csv:6:1: the header has no driver; write '# driver: ...' above\n"
            "m.csv:6:1: the header has no date; write '# date: ...' above\n"
            "m.csv:6:1: the header has no command; write '# command: ...' above\n");
  EXPECT_THAT(read(header).errors, HasSubstr("there are no rows"));
  EXPECT_THAT(read(header + "launch,,host_call,2.5,us,9,2.4,2.75").errors,
              HasSubstr("m.csv:9:1: the last line has no line end"));
  EXPECT_THAT(read(header + "# late: x\n").errors, HasSubstr("9:1: there is a header line between the rows"));
}

TEST(Measurements, AWrongFileIsNotToldLineByLine) {
  std::string rows;
  for (int i = 0; i < 100; ++i) rows += "nonsense\n";
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_measurements("m.csv", header + rows, diagnostics));
  EXPECT_EQ(diagnostics.size(), 21U);
}

}  // namespace
}  // namespace moire::measurements
