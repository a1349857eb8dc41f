// Tests encoded chunks: the checker knows which encoded chunks each step moves, counts how often a value is encoded on
// its way, and reports wrong uses at their step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "models/algorithms/msccl/xml_writer.hpp"
#include "tests/support/example_algorithms.hpp"

namespace moire::msccl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string miscodings(const Algorithm& algorithm) {
  config::Diagnostics diagnostics;
  const Verdict verdict = check(algorithm);
  report(algorithm, verdict, diagnostics);
  EXPECT_EQ(diagnostics.ok(), verdict.accepted(algorithm));
  return diagnostics.str();
}

// GPU 0 encodes its chunk and sends it to GPU 1. GPU 1 forwards it to GPU 2, and both decode it.
struct Broadcast {
  Broadcast() {
    maker.buffers(1, 1, 2);
    const Made encoded = maker.step(0, maker.block(0, none, none, 1), Op::encode, i(0), s(0));
    maker.step(0, encoded.block, Op::copy, i(0), o(0));
    send = maker.step(0, maker.block(0, 1, none), Op::send, s(0), s(0), 1, {encoded});
    const Made passed = maker.step(1, maker.block(1, 2, 0), Op::recv_copy_send, s(0), s(0));
    const Made received = maker.step(2, maker.block(2, none, 1), Op::recv, s(0), s(0));
    first = maker.step(1, maker.block(1, none, none, 1), Op::decode, s(0), o(0), 1, {passed});
    second = maker.step(2, maker.block(2, none, none, 1), Op::decode, s(0), o(0), 1, {received});
  }
  Maker maker{Collective::broadcast, Protocol::simple, 3, 1, false};
  Made send, first, second;
};

TEST(Codings, StepsThatMoveEncodedChunksAreKnown) {
  const Algorithm algorithm = Broadcast().maker.made;
  const Verdict verdict = check(algorithm);
  EXPECT_TRUE(verdict.accepted(algorithm));
  const proof::Codings& codings = verdict.patterns.at(0).codings;
  EXPECT_EQ(codings.passes, 1U);
  const std::vector<std::uint32_t> none_of_them, first = {0};
  EXPECT_THAT(codings.takes,
              ElementsAre(ElementsAre(none_of_them, none_of_them), ElementsAre(first), ElementsAre(first),
                          ElementsAre(first), ElementsAre(first), ElementsAre(first)));
  EXPECT_EQ(codings.chunks, 1U);
  EXPECT_TRUE(check(ring_all_reduce(3)).patterns.at(0).codings.takes.empty());
}

// GPU 0 encodes four chunks in two steps of two chunks, and sends them in three steps: the last chunk of one pair
// together with the first of the other, and then the other two chunks one by one.
TEST(Codings, EncodedChunksKeepTheirNumbers) {
  Maker maker{Collective::broadcast, Protocol::simple, 2, 4, false};
  maker.buffers(4, 4, 4);
  const std::int32_t coder = maker.block(0, none, none, 1);
  maker.step(0, coder, Op::encode, i(2), s(2), 2);
  const Made encoded = maker.step(0, coder, Op::encode, i(0), s(0), 2);
  maker.step(0, coder, Op::copy, i(0), o(0), 4);
  const std::int32_t sender = maker.block(0, 1, none), receiver = maker.block(1, none, 0);
  maker.step(0, sender, Op::send, s(1), s(1), 2, {encoded});
  maker.step(0, sender, Op::send, s(3), s(3));
  maker.step(0, sender, Op::send, s(0), s(0));
  Made last;
  last = maker.step(1, receiver, Op::recv, s(1), s(1), 2);
  last = maker.step(1, receiver, Op::recv, s(3), s(3));
  last = maker.step(1, receiver, Op::recv, s(0), s(0));
  maker.step(1, maker.block(1, none, none, 1), Op::decode, s(0), o(0), 4, {last});
  const Verdict verdict = check(maker.made);
  EXPECT_TRUE(verdict.accepted(maker.made)) << miscodings(maker.made);
  const auto& takes = verdict.patterns.at(0).codings.takes;
  EXPECT_THAT(takes.at(1), ElementsAre(ElementsAre(3, 0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(takes.at(2), ElementsAre(ElementsAre(3, 0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(takes.at(3), ElementsAre(ElementsAre(2, 3, 0, 1)));
}

TEST(Codings, AreCountedAlongAPath) {
  Broadcast b;  // GPU 2 encodes the chunk that it decoded, and decodes it again
  b.maker.at(b.second).dst_buffer = Buffer::scratch;
  b.maker.at(b.second).dst_offset = 1;
  const std::int32_t block = b.second.block;
  b.maker.buffers(1, 1, 3);
  b.maker.step(2, block, Op::encode, s(1), s(2));
  b.maker.step(2, block, Op::decode, s(2), o(0));
  EXPECT_EQ(miscodings(b.maker.made), "");
  EXPECT_EQ(check(b.maker.made).patterns.at(0).codings.passes, 2U);
}

TEST(Codings, WrongUsesAreToldAtTheirStep) {
  Broadcast plain;
  plain.maker.at(plain.first).type = Op::copy;
  EXPECT_THAT(miscodings(plain.maker.made),
              HasSubstr("gpu 1, tb 1, step 0 leaves the output encoded (out of place); decode"));
  Broadcast twice;
  twice.maker.at(twice.first).type = Op::encode;
  EXPECT_THAT(miscodings(twice.maker.made), HasSubstr("gpu 1, tb 1, step 0 encodes data that are already encoded"));
  Broadcast never;
  never.maker.made.gpus[0].blocks[0].steps[0].type = Op::copy;
  EXPECT_THAT(miscodings(never.maker.made), HasSubstr("decodes data that are not encoded"));
  Broadcast same;
  same.maker.at(same.first).dst_buffer = Buffer::scratch;
  EXPECT_THAT(miscodings(same.maker.made), HasSubstr("gpu 1, tb 1, step 0 encodes or decodes chunks onto themselves"));
}

TEST(Codings, SumsAndMixturesOfEncodedChunksAreRefused) {
  Maker sum(Collective::custom, Protocol::simple, 1, 2, false);
  sum.buffers(2, 2, 2);
  const std::int32_t block = sum.block(0, none, none);
  sum.step(0, block, Op::encode, i(0), s(0));
  sum.step(0, block, Op::reduce, s(0), o(0));
  EXPECT_THAT(miscodings(sum.made),
              HasSubstr("gpu 0, tb 0, step 1 adds encoded data (out of place); decode them first"));
  Maker mixed(Collective::custom, Protocol::simple, 1, 2, false);
  mixed.buffers(2, 2, 2);
  mixed.step(0, mixed.block(0, none, none), Op::encode, i(0), s(0));
  mixed.step(0, 0, Op::copy, i(1), s(1));
  mixed.step(0, 0, Op::copy, s(0), o(0), 2);
  EXPECT_THAT(miscodings(mixed.made),
              HasSubstr("step 2 moves encoded chunks together with chunks that are not encoded"));
}

TEST(Codings, AreWrittenAndRead) {
  const std::string text = to_xml(Broadcast().maker.made);
  EXPECT_THAT(text, HasSubstr("type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" "
                              "deps=\"-1\" hasdep=\"1\" coding=\"encode\"/>"));
  config::Diagnostics diagnostics;
  const auto read = read_xml_text("a.xml", text, diagnostics);
  ASSERT_TRUE(read) << diagnostics.str();
  EXPECT_EQ(to_xml(*read), text);
  const auto told = [&](const char* from, const char* to) {
    std::string changed = text;
    changed.replace(changed.find(from), std::string(from).size(), to);
    config::Diagnostics errors;
    EXPECT_FALSE(read_xml_text("a.xml", changed, errors));
    return errors.str();
  };
  EXPECT_THAT(told("coding=\"encode\"", "coding=\"zfp\""), HasSubstr("unknown coding 'zfp'; write encode or decode"));
  EXPECT_THAT(
      told("type=\"cpy\"", "type=\"re\""),
      HasSubstr("gpu 0, tb 0, step 0: a step of type re has a coding; only steps of type cpy encode or decode"));
}

}  // namespace
}  // namespace moire::msccl
