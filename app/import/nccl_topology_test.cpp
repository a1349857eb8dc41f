#include "app/import/nccl_topology.hpp"

#include <gtest/gtest.h>

#include "app/import/nccl_graph.hpp"

namespace moire::importing {
namespace {

std::string errors_of(const std::string& text) {
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_nccl_topology("t.xml", text, diagnostics).has_value());
  return diagnostics.str();
}

Topology read(const std::string& text) {
  config::Diagnostics diagnostics;
  const auto topology = read_nccl_topology("t.xml", text, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  return topology.value_or(Topology{});
}

TEST(NcclTopology, ReadsGpusByRankAndNicsByDevice) {
  const Topology topology = read(R"(<?xml version="1.0"?>
<system version="2">
  <cpu host_hash="0x1">
    <pci busid="b" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="8">
      <pci busid="second" class="0x120000" vendor="0x1002" device="0x74a1" link_speed="32.0 GT/s PCIe" link_width="0">
        <gpu dev="0" sm="304" gcn="gfx942" rank="1"/>
      </pci>
      <pci busid="first" class="0x120000"><gpu dev="1" rank="0"/></pci>
      <pci busid="n"><nic><net name="mlx5_1" dev="1" speed="400000" gdr="1" coll="1"/></nic></pci>
    </pci>
    <nic><net name="eth0" dev="0" speed="-1" guid="0x0"/></nic>
  </cpu>
</system>)");
  EXPECT_EQ(topology.version, 2);
  ASSERT_EQ(topology.gpus.size(), 2U);
  EXPECT_EQ(topology.gpus[0].pci.bus_id, "first");
  EXPECT_EQ(topology.gpus[1].pci.device, 0x74a1U);
  EXPECT_EQ(topology.gpus[1].gcn, "gfx942");
  EXPECT_EQ(topology.gpus[1].pci.width, 16) << "a width of 0 counts as 16";
  EXPECT_NEAR(topology.gpus[1].pci.raw_bandwidth(), 63.0e9, 0.1e9) << "PCIe 5.0 x16";
  EXPECT_EQ(topology.gpus[0].pci.raw_bandwidth(), 0);
  ASSERT_EQ(topology.nics.size(), 2U);
  EXPECT_EQ(topology.nics[0].name, "eth0");
  EXPECT_EQ(topology.nics[0].megabits, 10000) << "NCCL assumes 10 Gb/s if no speed is known";
  EXPECT_FALSE(topology.nics[0].rdma);
  EXPECT_FALSE(topology.nics[0].pci.has_value());
  EXPECT_TRUE(topology.nics[1].rdma && topology.nics[1].gpu_direct && topology.nics[1].in_network_reduction);
  EXPECT_EQ(topology.bridges, 1U);
  EXPECT_EQ(topology.cpus, 1U);
}

TEST(NcclTopology, DevicesOfCloudsAreToldByClass) {
  const Topology topology = read(R"(<system version="1"><cpu>
    <pci busid="a" class="0x030200"/><pci busid="b" class="0x020700"/><pci busid="c" class="0x060400"/></cpu></system>)");
  EXPECT_EQ(topology.gpus.size(), 1U);
  EXPECT_FALSE(topology.described());
  EXPECT_EQ(topology.network_cards.size(), 1U);
  EXPECT_EQ(topology.bridges, 1U);
}

TEST(NcclTopology, GpusThatNcclLeavesOutAreLeftOut) {
  const Topology topology = read(R"(<system version="1"><cpu>
    <pci busid="a" class="0x030200"/><pci busid="b" class="0x030200"><gpu dev="0"/></pci></cpu></system>)");
  ASSERT_EQ(topology.gpus.size(), 1U);
  EXPECT_EQ(topology.gpus[0].pci.bus_id, "b");
  EXPECT_TRUE(topology.uneven_gpus);
}

TEST(NcclTopology, SaysWhatItDidNotLookAt) {
  EXPECT_EQ(read(R"(<system version="1"><fabric/><cpu><pci busid="a"><gpu dev="0"><magic/></gpu></pci></cpu></system>)")
                .unknown,
            (std::vector<std::string>{"fabric", "magic"}));
}

TEST(NcclTopology, EveryErrorOfAFileHasItsPlace) {
  EXPECT_EQ(errors_of("<system version=\"one\">\n"
                      "  <cpu><pci class=\"0x030200\"><gpu dev=\"0\" sm=\"9e1\"/></pci>\n"
                      "    <gpu dev=\"1\"/>\n"
                      "    <pci busid=\"x\"><gpu rank=\"3\"><nvlink count=\"-2\"/></gpu></pci></cpu>\n"
                      "</system>\n"),
            "t.xml:1:9: version of <system> is 'one'; write an integer from 0 to 1000\n"
            "t.xml:2:8: there is a <pci> without busid; write busid=\"0000:10:00.0\"\n"
            "t.xml:2:43: sm of <gpu> is '9e1'; write an integer from 0 to 100000\n"
            "t.xml:3:5: there is a <gpu> outside of <pci>; write a GPU as a PCI device: <pci ...><gpu/></pci>\n"
            "t.xml:4:34: a <nvlink> without target; write the bus id of the device at the other end of the link\n"
            "t.xml:4:42: count of <nvlink> is '-2'; write an integer from 0 to 1024\n");
}

TEST(NcclTopology, NumbersMayBeHexadecimalButNotCutOrHuge) {
  const auto system = [](const std::string& sm) {
    return "<system version=\"1\"><cpu><pci busid=\"a\"><gpu dev=\"0\" sm=\"" + sm + "\"/></pci></cpu></system>";
  };
  EXPECT_EQ(read(system("0x5a")).gpus[0].sm, 90);
  for (const char* wrong : {"90x", "0x", "0x-1", " 90", "99999999999999999999", "100001"}) {
    EXPECT_NE(errors_of(system(wrong)), "") << wrong;
  }
}

TEST(NcclTopology, WhatIsNoDumpIsTold) {
  EXPECT_EQ(errors_of(""),
            "t.xml:1:1: this is an empty file, not a topology dump; use the file that NCCL writes with "
            "NCCL_TOPO_DUMP_FILE=topology.xml\n");
  EXPECT_NE(errors_of("\tGPU0\tGPU1\nGPU0\t X \tNV18").find("the text of 'nvidia-smi topo -m'"), std::string::npos);
  EXPECT_NE(errors_of("{\"name\": 1}").find("this is JSON"), std::string::npos);
  EXPECT_NE(errors_of("<graphs version=\"1\"/>").find("this one to --graph"), std::string::npos);
  EXPECT_NE(errors_of("<algo/>").find("the root element is <algo>, not <system>"), std::string::npos);
  EXPECT_NE(errors_of("<system version=\"1\"/>").find("the dump names no GPU"), std::string::npos);
  EXPECT_NE(errors_of("<system>\n <cpu>\n</system>").find("t.xml:3:"), std::string::npos);
  EXPECT_NE(
      errors_of(std::string("<system>\0</system>", 18)).find("t.xml:1:9: this is not well-formed XML: a zero byte"),
      std::string::npos);
}

TEST(NcclTopology, TreesAreNotDeeperThanMachines) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<pci>";
  std::string text = "<system>" + deep;
  for (int i = 0; i < 100000; ++i) text += "</pci>";
  EXPECT_NE(errors_of(text + "</system>").find("nested deeper than 64 levels"), std::string::npos);
}

TEST(NcclTopology, ANodeHasAtMost72Gpus) {
  std::string text = "<system><cpu>";
  for (int i = 0; i < 1000; ++i) text += "<pci busid=\"" + std::to_string(i) + "\" class=\"0x0302\"><gpu/></pci>";
  const std::string errors = errors_of(text + "</cpu></system>");
  EXPECT_NE(errors.find("more than 72 GPUs"), std::string::npos);
  EXPECT_LT(errors.size(), 1000U);
}

TEST(NcclGraph, ReadsChannels) {
  config::Diagnostics diagnostics;
  const auto graphs = read_nccl_graphs("g.xml",
                                       "<graphs version=\"1\"><graph id=\"1\" nchannels=\"1\" speedintra=\"20.6\" "
                                       "typeintra=\"NVL\"><channel><gpu dev=\"0x1\"/><gpu "
                                       "dev=\"0\"/></channel></graph></graphs>",
                                       diagnostics);
  ASSERT_TRUE(graphs.has_value());
  ASSERT_EQ(graphs->size(), 1U);
  EXPECT_EQ(graphs->front().name(), "tree");
  EXPECT_EQ(graphs->front().gpus, 2U);
  EXPECT_EQ(graphs->front().speed_intra, 20.6);
  EXPECT_EQ(graphs->front().type_intra, "NVL");
}

TEST(NcclGraph, RefusesWhatDoesNotFit) {
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_nccl_graphs("g.xml",
                                "<graphs>\n<graph id=\"0\" nchannels=\"3\" speedintra=\"fast\">\n<channel><gpu "
                                "dev=\"0\"/></channel>\n<channel/></graph></graphs>",
                                diagnostics)
                   .has_value());
  EXPECT_EQ(diagnostics.str(),
            "g.xml:2:15: nchannels is 3, but there are 2 channels; use the file as NCCL wrote it\n"
            "g.xml:2:29: speedintra of <graph> is 'fast'; write the GB/s of a channel\n"
            "g.xml:4:1: a channel has 0 GPUs, but a previous one has 1; all channels must pass all GPUs\n");
}

}  // namespace
}  // namespace moire::importing
