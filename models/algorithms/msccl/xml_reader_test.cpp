#include "models/algorithms/msccl/xml_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace moire::msccl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A valid file: an all-gather of two GPUs.
const std::string right =
    R"(<algo name="swap" proto="LL128" nchannels="2" nchunksperloop="4" ngpus="2" coll="allgather" inplace="1" outofplace="0" minBytes="64" maxBytes="9000000000">
  <!-- a comment -->
  <gpu id="1" i_chunks="0" o_chunks="4" s_chunks="3">
    <tb id="0" send="0" recv="0" chan="1">
      <step s="0" type="s" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="2" depid="-1" deps="-1" hasdep="1"/>
      <step s="1" type="r" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="0" cnt="2" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="0" i_chunks="0" o_chunks="4" s_chunks="0">
    <tb id="1" send="-1" recv="-1" chan="0">
    </tb>
    <tb id="0" send="1" recv="1" chan="1">
      <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="2" cnt="2" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)";

std::string with(const std::string& old, const std::string& now, std::string text = right) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}
std::string errors_of(const std::string& text) {
  config::Diagnostics diagnostics;
  const auto algorithm = read_xml_text("a.xml", text, diagnostics);
  EXPECT_EQ(algorithm.has_value(), diagnostics.ok());
  return diagnostics.str();
}
std::string warnings_of(const std::string& text) {
  config::Diagnostics diagnostics;
  EXPECT_TRUE(read_xml_text("a.xml", text, diagnostics)) << diagnostics.str();
  return diagnostics.warnings();
}

TEST(XmlReader, ReadsEverything) {
  config::Diagnostics diagnostics;
  const auto a = read_xml_text("a.xml", right, diagnostics);
  ASSERT_TRUE(a) << diagnostics.str();
  EXPECT_FALSE(diagnostics.warned()) << diagnostics.warnings();
  EXPECT_EQ(a->name, "swap");
  EXPECT_EQ(a->file, "a.xml");
  EXPECT_EQ(a->collective, Collective::all_gather);
  EXPECT_EQ(a->protocol, Protocol::ll128);
  EXPECT_EQ(a->channels, 2);
  EXPECT_EQ(a->chunks, 4);
  EXPECT_TRUE(a->in_place);
  EXPECT_FALSE(a->out_of_place);
  EXPECT_EQ(a->min_bytes, 64U);
  EXPECT_EQ(a->max_bytes, 9'000'000'000U);
  ASSERT_EQ(a->ranks(), 2);
  EXPECT_EQ(a->gpus[1].scratch_chunks, 3);
  EXPECT_EQ(a->gpus[1].line, 3U);
  ASSERT_EQ(a->gpus[0].blocks.size(), 2U);
  const ThreadBlock& block = a->gpus[0].blocks[0];
  EXPECT_EQ(block.send, 1);
  EXPECT_EQ(block.recv, 1);
  EXPECT_EQ(block.channel, 1);
  EXPECT_EQ(block.line, 12U);
  EXPECT_EQ(a->gpus[0].blocks[1].send, none);
  const Step& step = a->gpus[1].blocks[0].steps[1];
  EXPECT_EQ(step.type, Op::recv);
  EXPECT_EQ(step.src_buffer, Buffer::input);
  EXPECT_EQ(step.src_offset, -1);
  EXPECT_EQ(step.dst_buffer, Buffer::output);
  EXPECT_EQ(step.dst_offset, 0);
  EXPECT_EQ(step.count, 2);
  EXPECT_EQ(step.depends_block, 0);
  EXPECT_EQ(step.depends_step, 0);
  EXPECT_FALSE(step.has_dependents);
  EXPECT_TRUE(a->gpus[1].blocks[0].steps[0].has_dependents);
  EXPECT_EQ(step.line, 6U);
  EXPECT_EQ(step.col, 7U);
}

TEST(XmlReader, TakesBothSpellings) {
  for (const char* name : {"reducescatter", "reduce_scatter"}) {
    std::string text = with("allgather", name);
    config::Diagnostics diagnostics;
    const auto a = read_xml_text("a.xml", text, diagnostics);
    // With a reduce-scatter, the output has only two chunks, which is reported. The test only requires that the
    // collective's name is known.
    EXPECT_THAT(diagnostics.str(), Not(HasSubstr("unknown")));
  }
}

TEST(XmlReader, NamesThePlaceOfAWrongValue) {
  EXPECT_EQ(errors_of(with("LL128", "LL256")), "a.xml:1:19: algo: unknown proto 'LL256'; write Simple, LL or LL128\n");
  EXPECT_EQ(errors_of(with("type=\"s\"", "type=\"x\"")),
            "a.xml:5:19: gpu 1, tb 0, step 0: unknown type 'x'; write s, r, rcs, rrc, rrs, rrcs, cpy, re or nop\n");
  EXPECT_EQ(errors_of(with("srcbuf=\"o\"", "srcbuf=\"q\"")),
            "a.xml:5:28: gpu 1, tb 0, step 0: unknown srcbuf 'q'; buffer i, o or s\n");
  EXPECT_EQ(errors_of(with("chan=\"1\"", "chan=\"x\"")),
            "a.xml:4:34: gpu 1, tb 0: chan is 'x', not an integer; write digits, like 12 or -1\n");
}

TEST(XmlReader, ReadsWholeNumbersOnly) {
  for (const char* bad : {"", " 2", "2 ", "+2", "0x2", "2.0", "two"})
    EXPECT_THAT(errors_of(with("cnt=\"2\"", "cnt=\"" + std::string(bad) + "\"")),
                HasSubstr("gpu 1, tb 0, step 0: cnt is '" + std::string(bad) + "', not an integer"))
        << bad;
  EXPECT_THAT(errors_of(with("cnt=\"2\"", "cnt=\"99999999999\"")),
              HasSubstr("cnt is '99999999999', which is out of range"));
  EXPECT_THAT(errors_of(with("cnt=\"2\"", "cnt=\"65537\"")),
              HasSubstr("cnt is 65537, which is out of range; write 1 to 71"));
  EXPECT_THAT(errors_of(with("cnt=\"2\"", "cnt=\"-1\"")), HasSubstr("cnt is -1"));
  EXPECT_THAT(errors_of(with("maxBytes=\"9000000000\"", "maxBytes=\"-1\"")), HasSubstr("maxBytes is '-1'"));
  EXPECT_THAT(errors_of(with("hasdep=\"1\"", "hasdep=\"2\"")),
              HasSubstr("hasdep is '2', which is out of range; write 0 to 1"));
  EXPECT_THAT(errors_of(with("ngpus=\"2\"", "ngpus=\"70000\"")), HasSubstr("ngpus is '70000', which is out of range"));
}

TEST(XmlReader, AttributesAreThereOnce) {
  EXPECT_EQ(errors_of(with(" cnt=\"2\"", "")),
            "a.xml:5:7: gpu 1, tb 0, step 0: the attribute cnt is missing; every step needs it\n");
  EXPECT_EQ(errors_of(with(" cnt=\"2\"", " cnt=\"2\" cnt=\"2\"")),
            "a.xml:5:80: gpu 1, tb 0, step 0: cnt appears twice; keep one of them\n");
  EXPECT_THAT(errors_of(with(" ngpus=\"2\"", "")), HasSubstr("algo: the attribute ngpus is missing"));
  EXPECT_THAT(errors_of(with(" id=\"1\"", "")), HasSubstr("a.xml:3:3: a gpu: the attribute id is missing"));
}

TEST(XmlReader, IdsAreComplete) {
  EXPECT_THAT(errors_of(with("gpu id=\"1\"", "gpu id=\"0\"")),
              HasSubstr("a.xml:9:3: gpu id 0 appears twice: a duplicate"));
  EXPECT_THAT(errors_of(with("gpu id=\"1\"", "gpu id=\"2\"")),
              HasSubstr("a.xml:3:3: the gpu id is 2, but ngpus is 2; write 0 to 1"));
  EXPECT_THAT(errors_of(with("ngpus=\"2\"", "ngpus=\"5\"")),
              HasSubstr("ngpus is 5, but gpu 2 is missing (and 2 more)"));
  EXPECT_THAT(errors_of(with("tb id=\"1\"", "tb id=\"0\"")), HasSubstr("a.xml:12:5: gpu 0: tb id 0 appears twice"));
  EXPECT_THAT(errors_of(with("tb id=\"1\"", "tb id=\"2\"")),
              HasSubstr("a.xml:10:5: gpu 0: the tb id is 2, but this gpu has 2 thread blocks: the ids have a gap"));
  EXPECT_EQ(errors_of(with("s=\"1\" type", "s=\"2\" type")),
            "a.xml:6:13: gpu 1, tb 0, step 1: s is 2, but it is at position 1; count s from 0: steps run in the order "
            "of the file\n");
}

TEST(XmlReader, TellsAllErrorsAtOnce) {
  const std::string text =
      with("type=\"r\"", "type=\"q\"", with("chan=\"0\"", "chan=\"2\"", with("srcoff=\"2\"", "srcoff=\"9\"")));
  EXPECT_EQ(
      errors_of(text),
      "a.xml:5:7: gpu 1, tb 0, step 0: out of range: it reads o[9..11), but there are only 4 chunks of o; keep srcoff "
      "+ cnt at o_chunks or below\n"
      "a.xml:6:19: gpu 1, tb 0, step 1: unknown type 'q'; write s, r, rcs, rrc, rrs, rrcs, cpy, re or nop\n"
      "a.xml:10:5: gpu 0, tb 1: chan is 2, but nchannels is 2; write 0 to 1\n");
}

TEST(XmlReader, IsXml) {
  EXPECT_EQ(errors_of(""), "a.xml:1:1: the file is empty: it has no XML element; an algorithm is an element <algo>\n");
  EXPECT_EQ(errors_of(" \n <!-- no -->"),
            "a.xml:1:1: the file is empty: it has no XML element; an algorithm is an element <algo>\n");
  EXPECT_THAT(errors_of(right.substr(0, 700)), HasSubstr("this is not well-formed XML"));
  EXPECT_THAT(errors_of(right.substr(0, right.size() - 4)), HasSubstr("this is not well-formed XML"));
  EXPECT_THAT(errors_of(right + std::string("\0<", 2)), HasSubstr("a zero byte"));
  EXPECT_THAT(errors_of(right + "<algo/>"), HasSubstr("a.xml:18:1: there is a second top element"));
  EXPECT_THAT(errors_of("key: value\n"), HasSubstr("a.xml:1:1: "));
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "<a>";
  EXPECT_THAT(errors_of(deep), HasSubstr("not well-formed XML"));
  for (int i = 0; i < 200'000; ++i) deep += "</a>";
  EXPECT_THAT(errors_of(deep), HasSubstr("nested deeper than 64 levels"));
}

TEST(XmlReader, TellsOtherFiles) {
  EXPECT_EQ(errors_of("<system version=\"1\"/>"),
            "a.xml:1:1: this is an NCCL topology: its root element is <system>, not <algo>; 'moire import nccl-topo' "
            "converts it into a system\n");
  EXPECT_EQ(
      errors_of("\xef\xbb\xbf<graphs/>"),
      "a.xml:1:4: the root element is 'graphs', not algo; MSCCL XML consists of <algo>, <gpu>, <tb> and <step/>\n");
}

TEST(XmlReader, ExpandsNoEntities) {
  const std::string text =
      with("<algo", "<!DOCTYPE algo [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;\">]>\n<algo", with("swap", "&b;"));
  config::Diagnostics diagnostics;
  const auto a = read_xml_text("a.xml", text, diagnostics);
  ASSERT_TRUE(a) << diagnostics.str();
  EXPECT_EQ(a->name, "&b;");
}

TEST(XmlReader, OlderFilesAreTakenWithWarnings) {
  config::Diagnostics diagnostics;
  const auto a =
      read_xml_text("a.xml", with(" outofplace=\"0\" minBytes=\"64\" maxBytes=\"9000000000\"", ""), diagnostics);
  ASSERT_TRUE(a) << diagnostics.str();
  EXPECT_FALSE(a->out_of_place);
  EXPECT_EQ(a->min_bytes, 0U);
  EXPECT_EQ(a->max_bytes, std::uint64_t{128} << 20);
  EXPECT_THAT(diagnostics.warnings(),
              StartsWith("a.xml:1:1: warning: outofplace is missing, as in older files; it is taken as 0"));
  EXPECT_THAT(diagnostics.warnings(), HasSubstr("minBytes or maxBytes is missing"));
}

TEST(XmlReader, IgnoresWithWarnings) {
  EXPECT_EQ(
      warnings_of(with("<tb id=\"1\"", "<copy i_off=\"0\" o_off=\"0\"/><copy i_off=\"0\" o_off=\"0\"/><tb id=\"1\"")),
      "a.xml:10:5: warning: 'copy' in gpu is ignored, as the runtime does (and 1 more like it); write copies as steps "
      "of type cpy\n");
  EXPECT_EQ(warnings_of(with("<algo ", "<algo redop=\"sum\" ")), "a.xml:1:7: warning: 'redop' of algo is ignored\n");
  EXPECT_EQ(warnings_of(with("<tb id=\"1\"", "text<tb id=\"1\"")), "a.xml:9:3: warning: text inside gpu is ignored\n");
}

TEST(XmlReader, SaysWhyAFileCannotBeRead) {
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_xml("/nowhere/a.xml", diagnostics));
  EXPECT_EQ(diagnostics.str(), "/nowhere/a.xml: does not exist; name an MSCCL XML file\n");
  config::Diagnostics folder;
  EXPECT_FALSE(read_xml(::testing::TempDir(), folder));
  EXPECT_THAT(folder.str(), HasSubstr("is a folder"));
}

TEST(XmlReader, KnowsXmlByNameAndContent) {
  const std::string path = ::testing::TempDir() + "/msccl_is_xml";
  std::ofstream(path) << "\n  <algo/>";
  EXPECT_TRUE(is_xml(path));
  std::ofstream(path) << "system: x\n";
  EXPECT_FALSE(is_xml(path));
  EXPECT_TRUE(is_xml("/nowhere/a.xml"));
  EXPECT_FALSE(is_xml("/nowhere/a.yaml"));
}

}  // namespace
}  // namespace moire::msccl
