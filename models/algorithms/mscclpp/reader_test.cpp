#include "models/algorithms/mscclpp/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/example_plan.hpp"

namespace moire::mscclpp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string errors_of(const std::string& text) {
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_plan("p.json", text, diagnostics).has_value());
  return diagnostics.str();
}

std::string with_op(const std::string& op) {
  Example example;
  example.gpus = {{{op}}, {{}}};
  return example.text();
}

TEST(Reader, OperandsAreResolved) {
  Example example = Example::of_two([](int gpu, int) {
    return std::vector<std::vector<std::string>>{
        {move("rres", {at("i", 0), peers(2, 1)}, {at("s", 0), peers(1, gpu)}, part(1, 3)), signal(1)}};
  });
  example.more = R"(, "max_message_size": 18446744073709551615, "buffer_alignment": 8)";
  config::Diagnostics diagnostics;
  const auto plan = read_plan("p.json", example.text(), diagnostics);
  ASSERT_TRUE(plan.has_value()) << diagnostics.str();
  EXPECT_EQ(plan->schema, 2);
  EXPECT_EQ(plan->max_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(plan->alignment, 8U);
  const Operation& op = plan->gpus[1].blocks[0].operations[0];
  EXPECT_EQ(op.type, OpType::reduce);
  EXPECT_EQ(op.part, 1U);
  EXPECT_EQ(op.parts, 3U);
  EXPECT_EQ(op.sources[1].gpu, 0);
  EXPECT_EQ(op.sources[1].buffer, Buffer::scratch);
  EXPECT_EQ(op.sources[1].index, 1U);
  EXPECT_EQ(op.destinations[1].buffer, Buffer::output);
  EXPECT_THAT(plan->gpus[1].blocks[0].operations[1].channels, ElementsAre(1));
  EXPECT_EQ(plan->gpus[0].memory[1].ordinal, 1U);
}

TEST(Reader, TheOlderSchemaMeansTheSame) {
  const std::string text = R"({"name": "old", "collective": "allreduce", "protocol": "LL", "inplace": true, "gpus": [
{"id": 0, "inputChunks": 2, "outputChunks": 0, "scratchChunks": 4, "chunkGroups": 1,
 "channels": [{"srcbuff": "i", "dstbuff": "i", "type": "sm", "connectedTo": [1]},
              {"srcbuff": "i", "dstbuff": "s", "type": "sm", "connectedTo": [1, 1]}],
 "threadblocks": [{"id": 0, "channels": [{"src": "i", "dst": "s", "ctype": "sm", "cids": [1]}], "ops": [
  {"name": "ppkt", "o_buff": {"src": "i", "dst": "s"}, "o_cids": [{"id": 0, "off": 3}],
   "srcs": [{"buff": "i", "off": 1}], "ctype": "sm", "cnt": 1},
  {"name": "rspkt", "o_buff": {"src": "i", "dst": "s"}, "o_cids": [{"id": 0, "off": 1}], "src": 0, "srcbuff": "i",
   "srcoff": 0, "srcs": [{"buff": "s", "off": 2}], "dst": 0, "dstbuff": "i", "dstoff": 0, "ctype": "sm", "cnt": 1},
  {"name": "nop", "deps": [{"tb": 0, "step": 1}]},
  {"name": "cpkt", "src": 0, "srcbuff": "s", "srcoff": 0, "dst": 0, "dstbuff": "i", "dstoff": 1, "ctype": "none",
   "cnt": 1}]}]},
{"id": 1, "inputChunks": 2, "outputChunks": 0, "scratchChunks": 4, "chunkGroups": 1, "channels": [],
 "threadblocks": []}]})";
  config::Diagnostics diagnostics;
  const auto plan = read_plan("p.json", text, diagnostics);
  ASSERT_TRUE(plan.has_value()) << diagnostics.str();
  EXPECT_EQ(plan->schema, 1);
  const auto& ops = plan->gpus[0].blocks[0].operations;
  EXPECT_EQ(ops[0].type, OpType::put_packets);
  EXPECT_THAT(ops[0].channels, ElementsAre(2)) << "the second channel from input to scratch is the third of all";
  EXPECT_TRUE(ops[0].destinations[0].packets);
  EXPECT_EQ(ops[0].destinations[0].index, 3U);
  EXPECT_EQ(ops[1].type, OpType::reduce_packets);
  ASSERT_EQ(ops[1].sources.size(), 2U);
  EXPECT_FALSE(ops[1].sources[0].packets);
  EXPECT_TRUE(ops[1].sources[1].packets);
  EXPECT_EQ(ops[3].type, OpType::unpack_packets) << "in the newer schema, cpkt has the opposite meaning";
  EXPECT_THAT(errors_of(std::string(text).replace(text.find("\"tb\": 0, \"step\""), 7, "\"tb\": 1")),
              HasSubstr("gpu 0 tb 0 op 2 deps: a nop that depends on another thread block does not wait for it"));
}

TEST(Reader, PlacesAreThoseOfTheFile) {
  EXPECT_EQ(
      errors_of(
          "{\"name\": \"x\", \"collective\": \"allreduce\",\n  \"protocol\": \"Fast\", \"inplace\": 1, \"gpus\": []}"),
      "p.json:2:15: the plan: protocol is 'Fast'; write \"Simple\" or \"LL\"\n"
      "p.json:2:34: the plan: inplace is 1; true or false\n");
  EXPECT_EQ(errors_of("{\"gpus\":\n [{\"id\": 7}],\n\"name\": -3}"),
            "p.json:1:1: the plan has no 'collective'; add \"collective\"\n"
            "p.json:1:1: the plan has no 'protocol'; add \"protocol\"\n"
            "p.json:2:3: gpu 0 has no 'input_chunks'; add \"input_chunks\"\n"
            "p.json:2:3: gpu 0 has no 'output_chunks'; add \"output_chunks\"\n"
            "p.json:2:3: gpu 0 has no 'scratch_chunks'; add \"scratch_chunks\"\n"
            "p.json:2:3: gpu 0 has no 'channels'; add \"channels\"\n"
            "p.json:2:3: gpu 0 has no 'threadblocks'; add \"threadblocks\"\n"
            "p.json:2:10: gpu 0: its id is not its position in the list; write 0\n"
            "p.json:3:9: the plan: name is -3; a text\n");
}

TEST(Reader, WhatIsNoPlanIsTold) {
  EXPECT_THAT(errors_of("{\"name\": \"x\",\n \"gpus\": [}"), HasSubstr("p.json:2:11: not JSON"));
  EXPECT_THAT(errors_of("[1, 2]"), HasSubstr("this is not an execution plan of MSCCL++: there is no \"gpus\""));
}

TEST(Reader, NumbersAreWholeAndInRange) {
  const auto chunks = [](const std::string& number) {
    Example example;
    example.gpus = {{}};
    std::string text = example.text();
    return text.replace(text.find("\"input_chunks\": 1"), 17, "\"input_chunks\": " + number);
  };
  for (const char* wrong : {"-1", "1.5", "1e3", "\"1\"", "99999999999999999999", "1048577", "null", "[1]"}) {
    EXPECT_THAT(errors_of(chunks(wrong)), HasSubstr("gpu 0: input_chunks is ")) << wrong;
  }
}

TEST(Reader, IdsMustNameSomething) {
  EXPECT_THAT(errors_of(with_op(signal(2))),
              HasSubstr("gpu 0 tb 0 op 0: channel 2 is named, but the thread block has 2 memory channels"));
  EXPECT_THAT(errors_of(with_op(move("put", {at("i", 0)}, {peers(3, 0)}))),
              HasSubstr("gpu 0 tb 0 op 0 dst_buff: buffer 3 is named, but the thread block has 3 remote buffers over "
                        "memory channels"));
  EXPECT_THAT(errors_of(with_op(
                  move("glres", {R"({"switch_channel_id": 1, "index": 0, "size": 1})"}, {group(0)}, over_switch))),
              HasSubstr("switch channel 1 is named, but the thread block has 1"));
  EXPECT_THAT(errors_of(with_op(move("copy", {R"({"index": 0, "size": 1})"}, {at("o", 0)}))),
              HasSubstr("it names no buffer"));
  EXPECT_THAT(errors_of(with_op(move("copy", {at("x", 0)}, {at("o", 0)}))),
              HasSubstr("type is 'x'; write \"i\", \"o\" or \"s\""));
  EXPECT_THAT(errors_of(with_op(R"({"name": "frobnicate"})")), HasSubstr("unknown operation 'frobnicate'"));
  EXPECT_THAT(errors_of(with_op(move("put", {at("i", 0)}, {peers(0, 0)}, part(2, 2)))),
              HasSubstr("tb_id is 2, but 2 blocks share the operation"));
  EXPECT_THAT(errors_of(with_op(pipeline(1024, {pipeline(1024, {nop()})}))),
              HasSubstr("a pipeline is inside of a pipeline"));
  EXPECT_THAT(errors_of(with_op(pipeline(0, {nop()}))), HasSubstr("unit_size is 0"));
}

TEST(Reader, ManyErrorsAreCut) {
  Example example;
  example.gpus = {{{}}, {{}}};
  for (int i = 0; i < 200; ++i) example.gpus[0][0].push_back(signal(9));
  const std::string errors = errors_of(example.text());
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 21);
  EXPECT_THAT(errors, HasSubstr("180 more errors; the first ones may be their cause"));
}

}  // namespace
}  // namespace moire::mscclpp
