// Compares the checker's verdicts on third-party plans with known verdicts. The files are kept outside of the project.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "models/algorithms/mscclpp/check.hpp"
#include "models/algorithms/mscclpp/reader.hpp"
#include "tests/support/random_execution_mscclpp.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::mscclpp {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Sample {
  const char* file;
  const char* fault;  // a text that every error contains; "" for a correct plan
};

// True if executions in `seeds` random orders all give the right result.
bool all_right(const Plan& plan, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (RandomExecution(plan, cuts_of(plan).front(), seed).run() != Ending::right) return false;
  }
  return true;
}

class Samples : public ::testing::TestWithParam<Sample> {};

TEST_P(Samples, AreJudged) {
  const char* const shared = std::getenv("MOIRE_SHARED_DATA");
  const fs::path folder = shared ? fs::path(shared) : fs::path(support::source_dir()) / "../shared/data";
  const fs::path file = folder / "mscclpp" / GetParam().file;
  if (!fs::exists(file)) GTEST_SKIP() << "third-party file " << file << " is not here";
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  config::Diagnostics diagnostics;
  const auto plan = read_plan(file.string(), text, diagnostics);
  ASSERT_TRUE(plan.has_value()) << diagnostics.str();
  const Verdict verdict = check(*plan, diagnostics);
  EXPECT_TRUE(verdict.judged);
  EXPECT_FALSE(verdict.has(Fault::Kind::deadlock));
  EXPECT_FALSE(verdict.has(Fault::Kind::wrong));
  EXPECT_FALSE(verdict.has(Fault::Kind::unwritten));
  report(*plan, verdict, diagnostics);
  if (*GetParam().fault == '\0') {
    EXPECT_EQ(diagnostics.str(), "");
    EXPECT_TRUE(plan->collective == ir::Collective::send_recv || all_right(*plan, 5));
    return;
  }
  EXPECT_FALSE(diagnostics.ok());
  EXPECT_EQ(verdict.has(Fault::Kind::race), !all_right(*plan, 200)) << "a race shows in some order";
  for (const config::Diagnostic& error : diagnostics.sorted()) {
    if (error.what.find("not shown") != std::string::npos || error.what.ends_with("more errors")) continue;
    EXPECT_THAT(error.what, HasSubstr(GetParam().fault));
  }
}

// Six of these plans are faulty, although each gives the right result if stores take effect at once. README.md ("Plans
// of other people") explains the faults.
INSTANTIATE_TEST_SUITE_P(
    Files, Samples,
    ::testing::Values(Sample{"gen-v1-allreduce_allpairs_packet_r8.json", ""},
                      Sample{"gen-v1-allreduce_allpairs_sm_r8.json", ""},
                      // No signal follows the stores of the switch.
                      Sample{"gen-v1-allreduce_nvls_r8.json", "(glres) writes to gpu"},
                      // The runtime refuses more than 64 operations of a thread block.
                      Sample{"gen-v1-allreduce_ring_r8.json", "has 67 operations, but the runtime holds 64"},
                      Sample{"gen-v1-send_recv_proxy.json", ""},
                      // Puts from the user's buffer over ports are not flushed.
                      Sample{"gen-v2-multi_node-reducescatter.json", "(pws) still reads it"},
                      Sample{"gen-v2-single_node-allgather_tbg.json", ""},
                      Sample{"gen-v2-single_node-allreduce.json", ""},
                      // Only relaxed signals follow the stores of the switch.
                      Sample{"gen-v2-single_node-allreduce_nvls_zero_copy.json", "only relaxed signals follow it"},
                      Sample{"gen-v2-single_node-allreduce_pkt.json", ""},
                      Sample{"gen-v2-single_node-alltoall-alltoall.json", ""}, Sample{"mscclpp-allreduce.json", ""},
                      Sample{"mscclpp-allreduce_packet.json", ""}, Sample{"mscclpp-allreduce_pipeline.json", ""},
                      Sample{"mscclpp-reduce_nvls.json", "only relaxed signals follow it"},
                      // A thread block reads what another block of the peer copied, and waits for no signal of that
                      // block.
                      Sample{"mscclpp-reduce_tbg.json", "(copy)"}, Sample{"mscclpp-transfer_pack.json", ""}),
    [](const auto& tested) {
      std::string name;
      for (const char c : std::string(tested.param.file)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

}  // namespace
}  // namespace moire::mscclpp
