#include "app/import/wires.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/import/nccl_topology.hpp"

namespace moire::importing {
namespace {

using ::testing::ElementsAre;

std::string gpu(int number, const std::string& links) {
  return fmt::format("<pci busid=\"g{0}\" class=\"0x030200\"><gpu dev=\"{0}\" rank=\"{0}\" sm=\"80\">{1}</gpu></pci>",
                     number, links);
}
std::string link(const std::string& target, int count, const std::string& tclass = "0x030200") {
  return fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>", target, count, tclass);
}
std::string nic(int number) {
  return fmt::format("<pci busid=\"n{0}\" class=\"0x020700\"><nic><net name=\"mlx5_{0}\" dev=\"{0}\"/></nic></pci>",
                     number);
}

Topology topology(const std::string& inside) {
  config::Diagnostics diagnostics;
  const auto read =
      read_nccl_topology("t.xml", "<system version=\"1\"><cpu>" + inside + "</cpu></system>", diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  return read.value_or(Topology{});
}

TEST(Wires, SwitchesAreCountedAndTheirLinksAdded) {
  const std::string links = link("s0", 5, "0x068000") + link("s1", 4, "0x068000");
  const Wires wires = wires_of(topology(gpu(0, links) + gpu(1, links)));
  EXPECT_EQ(wires.shape, Shape::to_switch);
  EXPECT_EQ(wires.switches, 2U);
  EXPECT_THAT(wires.links, ElementsAre(9, 9));
}

TEST(Wires, AMeshHasTheSameLinksBetweenEveryTwo) {
  const Wires wires = wires_of(topology(gpu(0, link("g1", 2) + link("g2", 2)) + gpu(1, link("g0", 2) + link("g2", 2)) +
                                        gpu(2, link("g0", 2) + link("g1", 2))));
  EXPECT_EQ(wires.shape, Shape::mesh);
  EXPECT_EQ(wires.fewest(), 2);
  EXPECT_EQ(wires.most(), 2);
  EXPECT_FALSE(wires.one_sided);
}

TEST(Wires, UnequalLinksMakeAnUnevenMesh) {
  const Wires wires = wires_of(topology(gpu(0, link("g1", 2) + link("g2", 1)) + gpu(1, link("g0", 2) + link("g2", 1)) +
                                        gpu(2, link("g0", 1) + link("g1", 1))));
  EXPECT_EQ(wires.shape, Shape::uneven);
  EXPECT_EQ(wires.fewest(), 1);
  EXPECT_EQ(wires.most(), 2);
}

TEST(Wires, AMissingPairMakesItPartial) {
  const Wires wires =
      wires_of(topology(gpu(0, link("g1", 1)) + gpu(1, link("g0", 1) + link("g2", 1)) + gpu(2, link("g1", 1))));
  EXPECT_EQ(wires.shape, Shape::partial);
  EXPECT_EQ(wires.linked_pairs(), 2U);
  EXPECT_THAT(wires.links, ElementsAre(1, 2, 1));
}

TEST(Wires, LinksToItselfToTheHostAndOutsideAreNone) {
  const Wires wires = wires_of(topology(gpu(0, link("g0", 12) + link("x", 3)) + gpu(1, link("cpu", 2, "0x068001"))));
  EXPECT_EQ(wires.shape, Shape::none);
  EXPECT_EQ(wires.to_itself, 12);
  EXPECT_EQ(wires.astray, 3);
  EXPECT_EQ(wires.to_cpu, 2);
}

TEST(Wires, SomeGpusWithoutTheSwitchAreMixed) {
  EXPECT_EQ(wires_of(topology(gpu(0, link("s", 18, "0x068000")) + gpu(1, ""))).shape, Shape::mixed);
}

TEST(Wires, ALinkToldAtOneEndIsSeen) { EXPECT_TRUE(wires_of(topology(gpu(0, link("g1", 2)) + gpu(1, ""))).one_sided); }

TEST(Nics, TheNearestSharesMostOfThePath) {
  const auto under = [](const std::string& inside) {
    return "<pci busid=\"b\" class=\"0x060400\">" + inside + "</pci>";
  };
  const Topology near = topology(under(gpu(0, "") + nic(0)) + under(gpu(1, "") + nic(1)));
  EXPECT_THAT(nearest_nics(near.gpus[1], near.nics), ElementsAre(1));
  EXPECT_TRUE(nics_are_near(near, near.nics));
  // The order of NICs does not matter if each GPU has its own.
  const Topology crossed = topology(under(gpu(0, "") + nic(1)) + under(gpu(1, "") + nic(0)));
  EXPECT_TRUE(nics_are_near(crossed, crossed.nics));
  // In Moire consecutive GPUs share a NIC, but here GPUs 0 and 2 are near NIC 0, and GPUs 1 and 3 are near NIC 1.
  const Topology apart = topology(under(gpu(0, "") + gpu(2, "") + nic(0)) + under(gpu(1, "") + gpu(3, "") + nic(1)));
  EXPECT_FALSE(nics_are_near(apart, apart.nics));
  const Topology shared = topology(under(gpu(0, "") + gpu(1, "") + nic(0)) + under(gpu(2, "") + gpu(3, "") + nic(1)));
  EXPECT_TRUE(nics_are_near(shared, shared.nics));
}

}  // namespace
}  // namespace moire::importing
