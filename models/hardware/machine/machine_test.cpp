#include "models/hardware/machine/machine.hpp"

#include <gmock/gmock.h>

#include "sim/config/config.hpp"
#include "tests/support/example_system.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::machine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

double rate(Machine& machine, core::CapacityId id) { return machine.sharing().capacity(id).rate; }

TEST(Machine, BehindASwitchEveryPortHasTwoDirections) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(4), loop);
  for (Rank rank = 0; rank < 4; ++rank) {
    const RankCapacities& own = machine->capacities(rank);
    EXPECT_DOUBLE_EQ(rate(*machine, own.egress), 300e9);
    EXPECT_DOUBLE_EQ(rate(*machine, own.ingress), 300e9);
    EXPECT_NE(own.egress, own.ingress);
    EXPECT_TRUE(own.to_peer.empty());
    EXPECT_EQ(machine->capacity_info()[own.egress].kind, CapacityKind::scale_up_link);
    EXPECT_EQ(machine->capacity_info()[own.egress].rank, rank);
  }
}

TEST(Machine, APayloadByteTakesMoreOfALinkThanItself) {
  core::RunLoop loop;
  SystemSpec system = example_system(2, 1, link::Wiring::pcie);
  const auto on_wire = [&](Machine::Mover mover) {
    const auto machine = build_or_throw(system, loop);
    std::vector<core::Demand> demands;
    machine->add_store_path(0, 1, 8, demands, {.mover = mover});
    EXPECT_EQ(demands[0].capacity, machine->capacities(0).egress);
    EXPECT_DOUBLE_EQ(demands[0].per_work, demands[1].per_work);
    EXPECT_DOUBLE_EQ(rate(*machine, demands[0].capacity), 300e9) << "the raw rate";
    EXPECT_DOUBLE_EQ(demands[2].per_work, 8) << "memory takes the payload only";
    return demands[0].per_work;
  };
  system.node.gpu.port.payload_efficiency = 0.8;
  EXPECT_DOUBLE_EQ(on_wire(Machine::Mover::cu), 10);
  EXPECT_DOUBLE_EQ(on_wire(Machine::Mover::dma), 10) << "as stores, where nothing else is said";
  system.node.gpu.port.copy_efficiency = 0.5;
  EXPECT_DOUBLE_EQ(on_wire(Machine::Mover::cu), 10);
  EXPECT_DOUBLE_EQ(on_wire(Machine::Mover::dma), 16);
}

TEST(Machine, AFullMeshSplitsTheLinksOverThePeersAndLeavesTheRest) {
  for (const auto& [gpus, links, per_pair] :
       {std::tuple{4, 6, 2}, {4, 7, 2}, {4, 8, 2}, {4, 9, 3}, {8, 7, 1}, {2, 3, 3}}) {
    core::RunLoop loop;
    SystemSpec system = example_system(gpus, 1, link::Wiring::full_mesh);
    system.node.gpu.port.links = links;
    const auto machine = build_or_throw(system, loop);
    for (Rank a = 0; a < static_cast<Rank>(gpus); ++a) {
      const RankCapacities& own = machine->capacities(a);
      EXPECT_EQ(own.egress, core::no_id);
      EXPECT_EQ(own.to_peer[a], core::no_id);
      for (Rank b = 0; b < static_cast<Rank>(gpus); ++b) {
        if (a == b) continue;
        EXPECT_DOUBLE_EQ(rate(*machine, own.to_peer[b]), per_pair * 50e9) << gpus << " GPUs " << links << " links";
      }
    }
  }
}

TEST(Machine, AStoreTakesBothPortsAndThePeersMemory) {
  core::RunLoop loop;
  SystemSpec system = example_system(4);
  system.node.gpu.hbm.write_cost = 2;
  const auto machine = build_or_throw(system, loop);
  std::vector<core::Demand> demands;
  machine->add_store_path(1, 3, 10, demands, {});
  ASSERT_EQ(demands.size(), 3);
  EXPECT_EQ(demands[0].capacity, machine->capacities(1).egress);
  EXPECT_EQ(demands[1].capacity, machine->capacities(3).ingress);
  EXPECT_EQ(demands[2].capacity, machine->capacities(3).hbm);
  EXPECT_DOUBLE_EQ(demands[0].per_work, 10);
  EXPECT_DOUBLE_EQ(demands[1].per_work, 10);
  EXPECT_DOUBLE_EQ(demands[2].per_work, 20);
}

TEST(Machine, AStoreInAMeshOfTheSecondNodeTakesThatNodesLink) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(4, 2, link::Wiring::full_mesh), loop);
  std::vector<core::Demand> demands;
  machine->add_store_path(5, 7, 1, demands, {});
  ASSERT_EQ(demands.size(), 2);
  EXPECT_EQ(machine->sharing().capacity(demands[0].capacity).name, "link 5 to 7");
  EXPECT_EQ(demands[1].capacity, machine->capacities(7).hbm);
}

TEST(Machine, StoresStayInTheirNode) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(2, 2), loop);
  EXPECT_TRUE(machine->reach().stores(0, 0));
  EXPECT_TRUE(machine->reach().stores(2, 3));
  EXPECT_FALSE(machine->reach().stores(1, 2));
  std::vector<core::Demand> demands;
  EXPECT_ANY_THROW(machine->add_store_path(1, 2, 1, demands, {}));
  EXPECT_ANY_THROW(machine->add_store_path(1, 1, 1, demands, {}));
}

TEST(Machine, WithoutWiringGpusReachOnlyThemselvesByStores) {
  core::RunLoop loop;
  const auto machine = build_or_throw(example_system(2, 1, link::Wiring::none), loop);
  EXPECT_FALSE(machine->reach().stores(0, 1));
  EXPECT_TRUE(machine->reach().stores(1, 1));
  EXPECT_NE(machine->network(), nullptr);
}

TEST(Machine, GpusShareNicsInBlocks) {
  core::RunLoop loop;
  SystemSpec system = example_system(8, 2);
  system.node.nics = 4;
  const auto machine = build_or_throw(system, loop);
  const std::vector<core::EndpointId> expected{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
  for (Rank rank = 0; rank < 16; ++rank) EXPECT_EQ(machine->endpoint_of(rank), expected[rank]) << rank;
  EXPECT_EQ(machine->nics().size(), 8);
}

TEST(Machine, SaysWhatDoesNotFitTogether) {
  core::RunLoop loop;
  SystemSpec system = example_system(1, 6);
  system.fabric.emplace();
  system.fabric->torus.emplace();
  system.fabric->torus->dimensions = {2, 2};
  system.fabric->torus->link.bandwidth = {25e9};
  std::string error;
  EXPECT_EQ(Machine::build(system, loop, error), nullptr);
  EXPECT_THAT(error, HasSubstr("6"));
}

// --- Systems that are refused
// -----------------------------------------------------------------------------------------

std::string refusal(const std::string& yaml) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text(support::source_dir() + "/configs/systems/test.yaml", yaml, {}, diagnostics);
  if (root) config::parse<SystemSpec>(*root, diagnostics);
  return diagnostics.str();
}

TEST(SystemSpec, OneGpuNeedsNeitherWiringNorFabric) {
  EXPECT_THAT(refusal("{description: x, nodes: 1, node: {gpus: 1, gpu: ../hardware/mi210.yaml, wiring: none}}"),
              IsEmpty());
}

TEST(SystemSpec, AMeshNeedsALinkForEveryPeer) {
  EXPECT_THAT(refusal("{description: x, nodes: 1, node: {gpus: 8, gpu: ../hardware/mi210.yaml, wiring: full_mesh}}"),
              HasSubstr("needs 7 links per GPU, the port has 3"));
}

TEST(SystemSpec, SeveralNodesNeedAFabricAndANic) {
  EXPECT_THAT(refusal("{description: x, nodes: 2, node: {gpus: 1, gpu: ../hardware/mi210.yaml, wiring: none}}"),
              HasSubstr("more than one node but no fabric"));
  EXPECT_THAT(refusal("{description: x, nodes: 2, node: {gpus: 1, gpu: ../hardware/mi210.yaml, wiring: none}, fabric: "
                      "{direct: {}}}"),
              HasSubstr("more than one node but no NIC"));
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
