#include "models/hardware/machine/machine.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "models/hardware/machine/parts.hpp"
#include "sim/config/config.hpp"
#include "tests/support/example_system.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::machine {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// Returns the rates of the capacities by name.
std::map<std::string, double> rates(Machine& machine) {
  std::map<std::string, double> all;
  for (core::CapacityId id = 0; id < machine.sharing().capacities(); ++id) {
    const core::CapacitySpec& spec = machine.sharing().capacity(id);
    EXPECT_TRUE(all.emplace(spec.name, spec.rate).second) << spec.name << " appears twice";
  }
  return all;
}

// Returns the demands of a unit of work by the name of the capacity.
std::map<std::string, double> demands(Machine& machine, const core::ClassSpec& spec) {
  std::map<std::string, double> all;
  for (const core::Demand& demand : spec.demands)
    all[machine.sharing().capacity(demand.capacity).name] = demand.per_work;
  return all;
}
std::map<std::string, double> demands_of_copy(Machine& machine, const part::CopyUse& copy) {
  core::ClassSpec spec;
  for (const part::Shared* shared : machine.site().shared()) shared->use(copy, spec);
  return demands(machine, spec);
}
std::map<std::string, double> demands_of_store(Machine& machine, Rank rank, Rank peer, double bytes) {
  const program::PhaseShape shape{.name = "store", .peer_write = bytes, .in_flight = {1e3}};
  core::ClassSpec spec;
  for (const part::Shared* shared : machine.site().shared()) shared->use({shape, rank, peer}, spec);
  return demands(machine, spec);
}

TEST(Machine, BehindASwitchEveryPortHasTwoDirections) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(4), loop);
  const auto all = rates(*machine);
  EXPECT_EQ(all.size(), 4 * 4) << "L2, HBM and two directions of the port";
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_DOUBLE_EQ(all.at(fmt::format("rank {} port out", rank)), 300e9);
    EXPECT_DOUBLE_EQ(all.at(fmt::format("rank {} port in", rank)), 300e9);
  }
  for (core::CapacityId id = 0; id < machine->sharing().capacities(); ++id) {
    const std::string owner = fmt::format("rank {} ", machine->site().owner(id));
    EXPECT_THAT(machine->sharing().capacity(id).name, HasSubstr(owner));
  }
}

TEST(Machine, APayloadByteTakesMoreOfALinkThanItself) {
  core::RunLoop loop;
  SystemSpec system = example_system(2, 1, link::Wiring::pcie);
  const auto on_wire = [&](bool copy) {
    const auto machine = build_or_throw(system, loop);
    const auto taken =
        copy ? demands_of_copy(*machine, {.rank = 0, .peer = 1, .bytes = {1}}) : demands_of_store(*machine, 0, 1, 1);
    EXPECT_DOUBLE_EQ(taken.at("rank 0 port out"), taken.at("rank 1 port in"));
    EXPECT_DOUBLE_EQ(rates(*machine).at("rank 0 port out"), 300e9) << "the raw rate";
    EXPECT_DOUBLE_EQ(taken.at("rank 1 HBM"), 1) << "memory takes the payload only";
    return taken.at("rank 0 port out");
  };
  system.node.gpu.port.payload_efficiency = 0.8;
  EXPECT_DOUBLE_EQ(on_wire(false), 1.25);
  EXPECT_DOUBLE_EQ(on_wire(true), 1.25) << "as stores, where nothing else is said";
  system.node.gpu.port.copy_efficiency = 0.5;
  EXPECT_DOUBLE_EQ(on_wire(false), 1.25);
  EXPECT_DOUBLE_EQ(on_wire(true), 2);
}

// If a node has fewer GPUs than its mesh, a pair of GPUs keeps its number of links. In an earlier model, four GPUs of
// an eight-GPU mesh shared the links of all eight GPUs: 7 / 3 links per pair.
TEST(Machine, TakingGpusOfAMeshAwayTakesTheirLinksAway) {
  for (const auto& [gpus, per_pair] : {std::tuple{8, 1}, {4, 1}, {2, 1}, {4, 2}}) {
    core::RunLoop loop;
    SystemSpec system = example_system(gpus, 1, link::Wiring::full_mesh);
    system.node.gpu.port.links = 7;
    system.node.links_per_pair = per_pair;
    const auto machine = build_or_throw(system, loop);
    const auto all = rates(*machine);
    EXPECT_EQ(all.size(), static_cast<std::size_t>(gpus * (gpus + 1))) << "no link to itself, no port";
    for (int a = 0; a < gpus; ++a) {
      for (int b = 0; b < gpus; ++b) {
        if (a == b) continue;
        EXPECT_DOUBLE_EQ(all.at(fmt::format("link {} to {}", a, b)), per_pair * 50e9) << gpus << " " << per_pair;
      }
    }
  }
}

TEST(Machine, AStoreTakesBothPortsAndThePeersMemory) {
  core::RunLoop loop;
  SystemSpec system = example_system(4);
  system.node.gpu.hbm.write_cost = 2;
  const auto machine = build_or_throw(system, loop);
  EXPECT_THAT(demands_of_store(*machine, 1, 3, 10),
              ElementsAre(Pair("rank 1 port out", 10), Pair("rank 3 HBM", 20), Pair("rank 3 port in", 10)));
}

// The L2 of the example GPU holds a line once, so it keeps source and destination of a copy of half of its bytes.
TEST(Machine, OnlyARepeatedCopyWithinTheGpuStaysInTheL2) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(2), loop);
  const double half = machine->gpu().l2.capacity.value / 2;
  part::CopyUse copy{.rank = 1, .peer = 1, .bytes = {half}};
  EXPECT_THAT(demands_of_copy(*machine, copy), Contains(Pair("rank 1 HBM", _)));
  copy.again = true;
  EXPECT_THAT(demands_of_copy(*machine, copy), Not(Contains(Pair("rank 1 HBM", _))));
  copy.bytes = {half + 1};
  EXPECT_THAT(demands_of_copy(*machine, copy), Contains(Pair("rank 1 HBM", _)));
}

TEST(Machine, ACopyIntoTheHostTakesASlotAndTheMemoryOfItsNode) {
  using Way = program::Transfer::Way;
  core::RunLoop loop;
  SystemSpec system = example_system(2, 2);
  system.node.gpu.hbm.write_cost = 2;
  system.node.host_memory = example_host_memory();
  const auto machine = build_or_throw(system, loop);
  EXPECT_THAT(demands_of_copy(*machine, {.rank = 3, .peer = 3, .bytes = {1e3}, .way = Way::to_host}),
              ElementsAre(Pair("host 1 memory", 1), Pair("host 1 writes", 1), Pair("rank 3 HBM", 1),
                          Pair("rank 3 slot", 1), Pair("rank 3 slot out", 1)));
  EXPECT_THAT(demands_of_copy(*machine, {.rank = 3, .peer = 3, .bytes = {1e3}, .way = Way::from_host}),
              ElementsAre(Pair("host 1 memory", 1), Pair("host 1 reads", 1), Pair("rank 3 HBM", 2),
                          Pair("rank 3 slot", 1), Pair("rank 3 slot in", 1)));
  // The caches hold 1 MB, here a quarter of the bytes in use, or all of them.
  part::CopyUse cached{.rank = 3, .peer = 3, .bytes = {1e3}, .way = Way::from_host, .host_footprint = {4e6}};
  EXPECT_THAT(demands_of_copy(*machine, cached), Contains(Pair("host 1 memory", 0.75)));
  cached.host_footprint = {1e6};
  EXPECT_THAT(demands_of_copy(*machine, cached), Not(Contains(Pair("host 1 memory", _))));
}

// On PCIe, the port to the peers and the slot are the same lanes.
TEST(Machine, OnPcieACopyIntoTheHostTakesThePort) {
  core::RunLoop loop;
  SystemSpec system = example_system(2, 1, link::Wiring::pcie);
  system.node.host_memory = example_host_memory();
  const auto machine = build_or_throw(system, loop);
  EXPECT_THAT(demands_of_copy(*machine, {.rank = 1, .peer = 1, .way = program::Transfer::Way::to_host}),
              Contains(Pair("rank 1 port out", 1)));
}

TEST(Machine, AStoreInAMeshOfTheSecondNodeTakesThatNodesLink) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(4, 2, link::Wiring::full_mesh), loop);
  EXPECT_THAT(demands_of_store(*machine, 5, 7, 1), ElementsAre(Pair("link 5 to 7", 1), Pair("rank 7 HBM", 1)));
}

TEST(Machine, StoresStayInTheirNode) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(2, 2), loop);
  EXPECT_TRUE(machine->reach().stores(0, 0));
  EXPECT_TRUE(machine->reach().stores(2, 3));
  EXPECT_FALSE(machine->reach().stores(1, 2));
  EXPECT_ANY_THROW(demands_of_store(*machine, 1, 2, 1));
  EXPECT_ANY_THROW(demands_of_store(*machine, 1, 1, 1));
}

// A part declares each of its metrics once, and no two parts declare the same metric.
TEST(Parts, DeclareWhatTheyTell) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(2, 2), loop);
  ASSERT_EQ(machine->site().parts().size(), parts().size());
  std::set<std::string_view> names;
  for (std::size_t p = 0; p < parts().size(); ++p) {
    const part::Declaration& declared = parts()[p].declaration();
    const part::Part& part = *machine->site().parts()[p];
    EXPECT_THAT(part.traffic({}).size(), testing::AnyOf(declared.traffic.size(), 0U)) << declared.name;
    EXPECT_THAT(part.occupied(Time::from_us(1)).size(), testing::AnyOf(declared.occupied.size(), 0U)) << declared.name;
    for (const auto& infos : {declared.traffic, declared.occupied}) {
      for (const part::MetricInfo& info : infos) EXPECT_TRUE(names.insert(info.name).second) << info.name;
    }
    for (const part::BlameKind& kind : declared.blame) {
      EXPECT_TRUE(names.insert(kind.key).second) << kind.key;
      EXPECT_FALSE(kind.meaning.empty());
    }
  }
}

// Each kind of span that observers receive has one section of a timeline.
TEST(Parts, DeclareWhereTimelinesShowThem) {
  std::vector<std::pair<program::SpanKind, std::string_view>> sections;
  for (const part::TimelineSection& section : timeline_sections()) sections.emplace_back(section.spans, section.name);
  EXPECT_THAT(sections, testing::ElementsAre(std::pair(program::SpanKind::workgroup, "CUs"),
                                             std::pair(program::SpanKind::copy, "DMA engines"),
                                             std::pair(program::SpanKind::put, "puts")));
}

TEST(Machine, WithoutWiringGpusReachOnlyThemselvesByStores) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(2, 1, link::Wiring::none), loop);
  EXPECT_FALSE(machine->reach().stores(0, 1));
  EXPECT_TRUE(machine->reach().stores(1, 1));
  EXPECT_EQ(machine->service<part::Networks>().networks(), 1);
}

TEST(Machine, GpusShareNicsInBlocks) {
  core::RunLoop loop;
  SystemSpec system = example_system(8, 2);
  system.node.nics = 4;
  const auto machine = build_or_throw(system, loop);
  const std::vector<core::EndpointId> expected{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
  for (Rank rank = 0; rank < 16; ++rank)
    EXPECT_EQ(machine->service<part::Puts>().endpoint_of(rank), expected[rank]) << rank;
  EXPECT_EQ(machine->service<part::Networks>().topology().endpoints(), 8);
}

TEST(Machine, SaysWhatDoesNotFitTogether) {
  core::RunLoop loop;
  SystemSpec system = example_system(1, 6);
  system.fabric.emplace();
  system.fabric->torus.emplace();
  system.fabric->torus->dimensions = {2, 2};
  system.fabric->torus->link.bandwidth = {25e9};
  config::Problem error;
  EXPECT_EQ(Machine::build(system, loop, error), nullptr);
  EXPECT_THAT(error.str(), HasSubstr("6"));
}

// --- Systems that are refused

std::string refusal(const std::string& yaml) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text(support::source_dir() + "/configs/systems/test.yaml", yaml, {}, diagnostics);
  if (root) config::parse<SystemSpec>(*root, diagnostics);
  return diagnostics.str();
}

TEST(GpuSpec, AnOperatingPointSlowsTheOwnPartOfALoad) {
  GpuSpec gpu = example_gpu();
  const GpuSpec whole = gpu.operated_at(0.5);
  EXPECT_EQ(whole.l2.hit_latency, gpu.l2.hit_latency * 2);
  EXPECT_EQ(whole.l2.bandwidth.value, gpu.l2.bandwidth.value / 2);
  EXPECT_EQ(whole.hbm.unloaded_latency, gpu.hbm.unloaded_latency);
  gpu.compute.load_path = Time::from_ns(40);
  const GpuSpec part = gpu.operated_at(0.5);
  EXPECT_EQ(part.l2.hit_latency, gpu.l2.hit_latency + Time::from_ns(40));
  EXPECT_EQ(part.l2.bandwidth.value, gpu.l2.bandwidth.value / 2);
  EXPECT_EQ(part.hbm.unloaded_latency, gpu.hbm.unloaded_latency + Time::from_ns(40));
}

TEST(SystemSpec, OneGpuNeedsNeitherWiringNorFabric) {
  EXPECT_THAT(refusal("{description: x, nodes: 1, node: {gpus: 1, gpu: ../hardware/mi210.yaml, wiring: none}}"),
              IsEmpty());
}

TEST(SystemSpec, AMeshNeedsALinkForEveryPeer) {
  const std::string mesh = "{description: x, nodes: 1, node: {gpus: 8, gpu: ../hardware/mi210.yaml, wiring: full_mesh";
  EXPECT_THAT(refusal(mesh + "}}"),
              HasSubstr("links_per_pair is missing, which a full mesh needs; write links_per_pair: 1"));
  EXPECT_THAT(
      refusal(mesh + ", links_per_pair: 1}}"),
      HasSubstr("a full mesh of 8 GPUs with a link between every two needs 7 links per GPU, but the port has 3"));
}

TEST(SystemSpec, SeveralNodesNeedAFabricAndANic) {
  EXPECT_THAT(refusal("{description: x, nodes: 2, node: {gpus: 1, gpu: ../hardware/mi210.yaml, wiring: none}}"),
              HasSubstr("there is more than one node but no fabric"));
  EXPECT_THAT(refusal("{description: x, nodes: 2, node: {gpus: 1, gpu: ../hardware/mi210.yaml, wiring: none}, fabric: "
                      "{direct: {}}}"),
              HasSubstr("there is more than one node but no NIC"));
}

TEST(SystemSpec, UnwiredGpusNeedAWayToReachEachOther) {
  EXPECT_THAT(refusal("{description: x, nodes: 1, node: {gpus: 2, gpu: ../hardware/mi210.yaml, wiring: none}}"),
              HasSubstr("cannot reach each other"));
  EXPECT_THAT(
      refusal("{description: x, nodes: 1, node: {gpus: 2, gpu: ../hardware/mi210.yaml, wiring: none, nics: 2, nic: "
              "../hardware/hdr200.yaml}}"),
      HasSubstr("no fabric"));
  EXPECT_THAT(
      refusal("{description: x, nodes: 1, node: {gpus: 2, gpu: ../hardware/mi210.yaml, wiring: none, nics: 2, nic: "
              "../hardware/hdr200.yaml}, fabric: {star: {switch_latency: 130 ns}}}"),
      IsEmpty());
}

}  // namespace
}  // namespace moire::machine
