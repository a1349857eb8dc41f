#include "models/algorithms/msccl/xml_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "models/algorithms/msccl/xml_reader.hpp"

namespace moire::msccl {
namespace {

// GPU 0 sends its chunk after its local copy; GPU 1 receives it.
Algorithm example() {
  Algorithm made;
  made.name = "a <&> \"b\"";
  made.collective = Collective::all_to_all;
  made.protocol = Protocol::ll128;
  made.channels = 2;
  made.chunks = 2;
  made.in_place = false;
  made.out_of_place = true;
  made.min_bytes = 512;
  made.max_bytes = 1 << 20;
  made.gpus.resize(2);
  for (Gpu& gpu : made.gpus) gpu.input_chunks = gpu.output_chunks = 2;
  made.gpus[0].scratch_chunks = 1;
  Step copy{.type = Op::copy, .dst_buffer = Buffer::scratch, .has_dependents = true, .count = 1};
  Step send{.type = Op::send, .src_buffer = Buffer::scratch, .dst_buffer = Buffer::output, .count = 1};
  send.depends_block = 0;
  send.depends_step = 0;
  Step recv{.type = Op::recv, .src_buffer = Buffer::scratch, .dst_buffer = Buffer::output, .count = 1};
  made.gpus[0].blocks.resize(2);
  made.gpus[0].blocks[0].channel = 1;
  made.gpus[0].blocks[0].steps = {copy};
  made.gpus[0].blocks[1].send = 1;
  made.gpus[0].blocks[1].steps = {send};
  made.gpus[1].blocks.resize(1);
  made.gpus[1].blocks[0].recv = 0;
  made.gpus[1].blocks[0].steps = {recv};
  return made;
}

TEST(XmlWriter, WritesEveryAttributeThatRuntimesRead) {
  EXPECT_EQ(to_xml(example()),
            R"(<algo name="a &lt;&amp;&gt; &quot;b&quot;" proto="LL128" nchannels="2" nchunksperloop="2" ngpus="2" )"
            R"(coll="alltoall" inplace="0" outofplace="1" minBytes="512" maxBytes="1048576">
  <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="1">
    <tb id="0" send="-1" recv="-1" chan="1">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="0">
    <tb id="0" send="-1" recv="0" chan="0">
      <step s="0" type="r" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)");
}

TEST(XmlWriter, WhatIsReadAgainIsWrittenTheSame) {
  const auto file = std::filesystem::temp_directory_path() / ("moire_xml_writer_" + std::to_string(getpid()) + ".xml");
  std::ofstream(file) << to_xml(example());
  config::Diagnostics diagnostics;
  const auto read = read_xml(file.string(), diagnostics);
  std::filesystem::remove(file);
  ASSERT_TRUE(read) << diagnostics.str();
  EXPECT_EQ(to_xml(*read), to_xml(example()));
}

}  // namespace
}  // namespace moire::msccl
