// Tests of strands: wavefronts of one workgroup execute different steps at the same time.
#include <gmock/gmock.h>

#include <map>

#include "tests/support/example_program.hpp"

namespace moire::replay {
namespace {

using machine::example_system;
using program::Program;
using ::testing::HasSubstr;

Time us(double t) { return Time::from_us(t); }

program::Kernel strands(std::int64_t workgroups, std::uint32_t number, StrandBody::Answer answer) {
  program::Kernel made = kernel("strands", 0, nullptr);
  made.body = std::make_shared<StrandBody>(workgroups, number, std::move(answer));
  return made;
}

Program of(program::Kernel kernel, Rank ranks = 1) {
  Program program(ranks);
  program.queues = {queue("main", {std::move(kernel)})};
  return program;
}

TEST(Strands, TheWorkgroupEndsWithItsLastStrand) {
  Watcher seen;
  const Result result = run(
      example_system(1),
      of(strands(1, 3, [](Rank, std::int64_t, std::uint32_t strand) { return Steps{delay(us(strand == 1 ? 7 : 2))}; })),
      &seen);
  EXPECT_EQ(result.end, us(7));
  EXPECT_EQ(result.workgroups, 1);
  EXPECT_EQ(result.operations[0].workgroups, 1);
  EXPECT_EQ(result.operations[0].phases[3].count, 3) << "delays, of all strands";
  EXPECT_EQ(result.operations[0].phases[3].total.us(), 2 + 7 + 2);
  std::map<std::uint32_t, Time> ends;
  for (const Watcher::Workgroup& span : seen.workgroups) {
    EXPECT_EQ(span.workgroup, 0);
    EXPECT_EQ(span.cu, seen.workgroups[0].cu);
    ends[span.strand] = span.end;
  }
  EXPECT_EQ(ends, (std::map<std::uint32_t, Time>{{0, us(2)}, {1, us(7)}, {2, us(2)}}));
}

// A CU reads 100 B/ns. While both strands read, each gets 50 B/ns. The strand that is left gets 100 B/ns.
TEST(Strands, ShareTheirCu) {
  const Result result = run(example_system(1), of(strands(1, 2, [](Rank, std::int64_t, std::uint32_t strand) {
                              return Steps{work(strand == 0 ? 100e3 : 300e3)};
                            })));
  EXPECT_EQ(result.end, us(2 + 2));
}

// 16 workgroups run on 8 CUs. A slot is free when the last strand of its workgroup has ended, whichever strand is last.
TEST(Strands, HoldThePlaceTogether) {
  for (const std::uint32_t last : {0U, 1U, 2U}) {
    const Result result = run(example_system(1), of(strands(16, 3, [=](Rank, std::int64_t, std::uint32_t strand) {
                                return Steps{delay(us(strand == last ? 5 : 1)), work(strand == last ? 0 : 1e3)};
                              })));
    EXPECT_EQ(result.end, us(10)) << last;
    EXPECT_EQ(result.workgroups, 16);
  }
}

TEST(Strands, OneWaitsForAnother) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("strands")};
                                                      }});
  program.queues = {
      queue("main", {strands(1, 2, [=](Rank, std::int64_t, std::uint32_t strand) {
              return strand == 0 ? Steps{wait(flags.at(0, 0))} : Steps{delay(us(3)), signal(0, flags.at(0, 0))};
            })})};
  EXPECT_EQ(run(example_system(1), program).end, us(3 + 0.1 + 0.1)) << "a local flag and its poll";
}

TEST(Strands, TheDeadlockReportNamesTheStrand) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("strands")};
                                                      }});
  program.queues = {queue("main", {strands(1, 2, [=](Rank, std::int64_t, std::uint32_t strand) {
                            return strand == 0 ? Steps{} : Steps{wait(flags.at(0, 0))};
                          })})};
  EXPECT_THAT(run(example_system(1), program).deadlock,
              HasSubstr("workgroup 0 strand 1 on CU 0 waits for flag go[0] of rank 0 >= 1, it is 0"));
}

}  // namespace
}  // namespace moire::replay
