// Compares the checker's verdicts on third-party algorithms with known verdicts. The files are kept outside of the
// project.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "tests/support/replicate_algorithm.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::msccl {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::filesystem::path data() {
  const char* named = std::getenv("MOIRE_SHARED_DATA");
  return (named ? std::filesystem::path(named) : std::filesystem::path(support::source_dir()) / "../shared/data") /
         "msccl";
}

class Corpus : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data() / "manifest.json"))
      GTEST_SKIP() << "no third-party algorithms in " << data() << "; MOIRE_SHARED_DATA names another folder";
  }
  static Json list(const char* name) { return Json::parse(std::ifstream(data() / name)); }
  static std::optional<Algorithm> read(const std::string& file) {
    config::Diagnostics diagnostics;
    auto algorithm = read_xml((data() / file).string(), diagnostics);
    EXPECT_TRUE(algorithm.has_value()) << diagnostics.str();
    return algorithm;
  }
};

TEST_F(Corpus, ValidFilesAreJudgedAsTheOracleSays) {
  const Json files = list("manifest.json");
  EXPECT_EQ(files.size(), 57U);
  for (const Json& oracle : files) {
    SCOPED_TRACE(oracle["file"]);
    const auto algorithm = read(oracle["file"]);
    ASSERT_TRUE(algorithm);
    EXPECT_EQ(to_string(algorithm->collective), oracle["coll"]);
    EXPECT_EQ(to_string(algorithm->protocol), oracle["proto"]);
    EXPECT_EQ(algorithm->ranks(), oracle["ngpus"]);
    EXPECT_EQ(algorithm->channels, oracle["nchannels"]);
    EXPECT_EQ(algorithm->chunks, oracle["nchunksperloop"]);
    EXPECT_EQ(algorithm->in_place ? 1 : 0, oracle["inplace"]);
    const Verdict verdict = check(*algorithm);
    EXPECT_EQ(verdict.counts.most_blocks, oracle["max_tbs_per_gpu"]);
    EXPECT_EQ(verdict.counts.steps, oracle["steps"]);
    EXPECT_EQ(verdict.counts.most_steps, oracle["max_steps_per_tb"]);
    EXPECT_EQ(verdict.counts.connections, oracle["connections"]);
    EXPECT_EQ(Json(verdict.counts.types), oracle["types"]);
    EXPECT_TRUE(verdict.correct());
    EXPECT_EQ(verdict.patterns.at(0).result.stated, oracle["result"] == "correct");
    EXPECT_EQ(verdict.races(), oracle["races"]);
    EXPECT_EQ(verdict.fifo.calls, oracle["fifo_calls"]);
    EXPECT_EQ(verdict.deadlock.chunks_per_call_le, oracle["hangs_if_chunks_per_call_le"]);
    const Json above = verdict.deadlock.above_bytes ? Json(*verdict.deadlock.above_bytes) : Json();
    EXPECT_EQ(above, oracle["hangs_above_bytes"]);
    EXPECT_TRUE(verdict.accepted(*algorithm));
    config::Diagnostics diagnostics;
    report(*algorithm, verdict, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.str();
  }
}

// Returns for each invalid file (by name) the texts that its error message must contain.
const std::map<std::string, std::vector<std::string>>& faults() {
  static const std::map<std::string, std::vector<std::string>> faults = {
      {"bad_buffer", {"gpu 0, tb 0, step 1", "unknown srcbuf 'q'"}},
      {"bad_coll", {"unknown coll 'allshuffle'"}},
      {"bad_proto", {"unknown proto 'LL256'"}},
      {"bad_type", {"gpu 0, tb 0, step 1", "unknown type 'rxq'"}},
      {"chan_out_of_range", {"gpu 0, tb 0", "chan is 7, but nchannels is 1"}},
      {"cnt_mismatch", {"gpu 0, tb 0, step 0", "unmatched", "cnt=2", "cnt=1"}},
      {"deadlock_fifo_3_sends_Simple", {"deadlock at every size", "connection 0 -> 1 on channel 0 is full (2 calls)"}},
      {"deadlock_fifo_9_sends_LL", {"deadlock at every size", "connection 0 -> 1 on channel 0 is full (8 calls)"}},
      {"deadlock_recv_first",
       {"deadlock at every size", "gpu 0, tb 0, step 0", "connection 3 -> 0 on channel 0 is empty"}},
      {"deadlock_teccl_nvswitch16_published", {"deadlock at every size", "is empty"}},
      {"dep_cycle", {"deadlock at every size", "gpu 0, tb 0, step 0", "waits for gpu 0, tb 1, step 0"}},
      {"dep_missing_step", {"gpu 0, tb 0, step 0", "dependency", "step 55 of tb 2, which does not exist"}},
      {"dep_missing_tb", {"gpu 0, tb 0, step 0", "dependency", "tb 77, which does not exist"}},
      {"dep_never_flagged", {"gpu 0, tb 0, step 0", "never met", "hasdep"}},
      {"dep_on_own_later_step", {"deadlock", "gpu 0, tb 0, step 0", "waits for gpu 0, tb 0, step 3"}},
      {"dst_cnt_out_of_range", {"gpu 1, tb 0, step 6", "out of range", "writes i[2..6)", "4 chunks"}},
      {"dup_connection", {"gpu 0, tb 3", "same connection", "send to gpu 1 on channel 0"}},
      {"dup_connection_from_compiler", {"same connection", "receive from gpu"}},
      {"duplicate_gpu", {"gpu id 2 appears twice"}},
      {"empty", {"empty"}},
      {"huge_numbers", {"gpu 0, tb 0, step 0", "out of range"}},
      {"many_chunks_cnt_72", {"gpu 0, tb 0, step 0", "cnt is 72", "71"}},
      {"missing_attribute", {"gpu 0, tb 0, step 0", "cnt is missing"}},
      {"missing_gpu", {"ngpus is 4, but gpu 3 is missing"}},
      {"missing_recv", {"unmatched", "connection 1 -> 2 on channel 0", "6 sends and 5 receives"}},
      {"missing_send", {"unmatched", "nothing is sent"}},
      {"nchunks_not_multiple", {"nchunksperloop is 5 and not a multiple of ngpus, 4"}},
      {"nchunksperloop_zero", {"nchunksperloop is 0"}},
      {"negative_offset", {"gpu 0, tb 0, step 0", "negative offset"}},
      {"ngpus_zero", {"ngpus is 0"}},
      {"non_numeric", {"gpu 0, tb 0, step 0", "cnt is 'one', not an integer"}},
      {"nop_not_followed_by_dep", {"gpu 0, tb 0, step 1", "follows a nop", "no dependency"}},
      {"not_algo_root", {"root element", "<system>", "NCCL topology"}},
      {"peer_out_of_range", {"gpu 0, tb 0", "send is 9", "no such peer"}},
      {"peer_self", {"gpu 0, tb 0", "send is the gpu itself"}},
      {"race_missing_dep",
       {"race", "gpu 0, tb 0, step 0 (line 4) reads s[1]", "gpu 0, tb 2, step 1 (line 16) writes s[1]"}},
      {"recv_without_peer", {"gpu 0, tb 0, step 1", "receives", "recv=\"-1\""}},
      {"scratch_out_of_range", {"gpu 0, tb 1, step 1", "out of range", "s[99..100)"}},
      {"send_without_peer", {"gpu 0, tb 0, step 0", "sends", "send=\"-1\""}},
      {"src_out_of_range", {"gpu 1, tb 0, step 0", "out of range", "i[4..5)", "4 chunks"}},
      {"step_numbers_not_0_to_n", {"gpu 0, tb 0, step 0", "s is 3, but it is at position 0"}},
      {"tb_id_duplicate", {"gpu 0", "tb id 0 appears twice"}},
      {"tb_id_gap", {"gpu 0", "tb id is 2", "gap"}},
      {"too_many_steps", {"gpu 0, tb 0", "300 steps", "256"}},
      {"truncated", {"not well-formed XML"}},
      {"wrong_double_add", {"wrong result", "i[0] of gpu 1 twice"}},
      {"wrong_lost_reduction",
       {"wrong result", "holds i[1] of gpus 1-3", "gpu 0, tb 0, step 3 (line 7)", "overwrites (type rcs)"}},
      {"wrong_pcie_hierarchical_published_example", {"wrong result", "i[0] of gpus 0-3"}},
      {"wrong_pipeline_ring_published_example", {"wrong result", "holds i[0] of gpu 0 (128 chunks are wrong)"}},
      {"wrong_place", {"wrong result", "gpu 0, tb 0, step 6 (line 10)", "wrong place"}},
      {"zero_cnt", {"gpu 0, tb 0, step 0", "cnt is 0"}},
  };
  return faults;
}

TEST_F(Corpus, InvalidFilesAreRefusedWithTheirFault) {
  const Json files = list("invalid.json");
  EXPECT_EQ(files.size(), faults().size());
  for (const Json& oracle : files) {
    const std::string file = oracle["file"];
    SCOPED_TRACE(file + ": " + std::string(oracle["why"]));
    config::Diagnostics diagnostics;
    const auto algorithm = read_xml((data() / file).string(), diagnostics);
    if (algorithm) {
      const Verdict verdict = check(*algorithm);
      EXPECT_FALSE(verdict.accepted(*algorithm));
      report(*algorithm, verdict, diagnostics);
    }
    ASSERT_FALSE(diagnostics.ok());
    EXPECT_THAT(diagnostics.str(), HasSubstr(file + ":"));
    for (const std::string& words : faults().at(std::filesystem::path(file).stem().string()))
      EXPECT_THAT(diagnostics.str(), HasSubstr(words));
  }
}

// Runs on 8 MI300X, in place, were published for these algorithms. `runs` has the largest size at which each one
// finished; at twice this size it hung.
TEST_F(Corpus, AllPairsHangsAsItDidOnHardware) {
  constexpr std::uint64_t MiB = 1 << 20;
  const auto one = read("generated/allreduce_allpairs_r8_i1_Simple.xml");
  const auto two = read("generated/allreduce_allpairs_r8_i2_Simple.xml");
  const auto one_ll = read("generated/allreduce_allpairs_r8_i1_LL.xml");
  ASSERT_TRUE(one && two && one_ll);
  const auto hangs = [](const Algorithm& algorithm, std::uint64_t bytes) {
    return check(algorithm, {bytes, {}}).hangs_at_bytes;
  };
  const std::vector<std::pair<Algorithm, std::uint64_t>> runs = {
      {*one, 32 * MiB}, {*two, 64 * MiB}, {replicated(*one, 4), 128 * MiB}, {replicated(*one, 8), 256 * MiB}};
  for (const auto& [algorithm, last] : runs) {
    SCOPED_TRACE(last);
    EXPECT_TRUE(check(algorithm).correct());
    EXPECT_EQ(check(algorithm).deadlock.above_bytes, last);
    EXPECT_FALSE(hangs(algorithm, last));
    EXPECT_TRUE(hangs(algorithm, 2 * last));
  }
  for (const Algorithm& algorithm : {*one_ll, replicated(*one_ll, 8)}) EXPECT_TRUE(check(algorithm).deadlock.never());
  Algorithm ll128 = *one_ll;
  ll128.protocol = Protocol::ll128;
  EXPECT_TRUE(check(ll128).deadlock.never());
}

}  // namespace
}  // namespace moire::msccl
