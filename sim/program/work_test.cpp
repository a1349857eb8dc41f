#include "sim/program/work.hpp"

#include <gtest/gtest.h>

namespace moire::program {
namespace {

// A kernel with `groups` workgroups per rank, each with `steps` steps per strand.
class Plain : public KernelBody {
 public:
  Plain(std::int64_t groups, std::uint32_t steps, std::uint32_t strands = 1, std::int64_t items = 0)
      : groups_(groups), steps_(steps), strands_(strands), items_(items) {}
  std::int64_t workgroups(Rank) const override { return groups_; }
  bool phase(Rank, std::int64_t, std::uint32_t step, Phase&) const override { return step < steps_; }
  std::uint32_t strands(Rank) const override { return strands_; }
  bool strand_phase(Rank, std::int64_t, std::uint32_t, std::uint32_t step, Phase&) const override {
    return step < steps_;
  }
  std::int64_t items(Rank) const override { return items_; }
  bool item_phase(Rank, std::int64_t, std::uint32_t step, Phase&) const override { return step < 3; }

 private:
  std::int64_t groups_;
  std::uint32_t steps_;
  std::uint32_t strands_;
  std::int64_t items_;
};

// Workgroup w has w steps.
class Growing : public KernelBody {
 public:
  std::int64_t workgroups(Rank) const override { return 1001; }
  bool phase(Rank, std::int64_t workgroup, std::uint32_t step, Phase&) const override { return step < workgroup; }
};

Work work_of_one(std::shared_ptr<const KernelBody> body, RankSet ranks = {}) {
  Program program(4);
  program.queues.push_back({"main", 0, {Kernel{"k", {}, {}, std::move(body), std::move(ranks)}}});
  return work_of(program);
}

TEST(Work, CountsWhatAllWorkgroupsDo) {
  EXPECT_EQ(work_of_one(std::make_shared<Plain>(1000, 5)).workgroups, 4000);
  EXPECT_EQ(work_of_one(std::make_shared<Plain>(1000, 5)).steps, 20000);
  EXPECT_EQ(work_of_one(std::make_shared<Plain>(10, 5, 3)).steps, 4 * 10 * 15);
  EXPECT_EQ(work_of_one(std::make_shared<Plain>(10, 1, 1, 100)).steps, 4 * (10 + 300));
  EXPECT_EQ(work_of_one(std::make_shared<Plain>(0, 5)).steps, 0);
}

TEST(Work, LeavesOutRanksThatTheKernelDoesNotRunOn) {
  const auto two = std::make_shared<const std::vector<bool>>(std::vector<bool>{true, false, false, true});
  EXPECT_EQ(work_of_one(std::make_shared<Plain>(1000, 5), two).steps, 10000);
}

TEST(Work, TakesTheMeanWhereWorkgroupsDiffer) {
  EXPECT_NEAR(work_of_one(std::make_shared<Growing>()).steps, 4 * 1001 * 500.0, 4 * 1001);
}

}  // namespace
}  // namespace moire::program
