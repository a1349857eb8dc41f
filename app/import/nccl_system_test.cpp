#include "app/import/nccl_system.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "models/workload/libraries/software.hpp"
#include "sim/config/load.hpp"
#include "sim/config/spec.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::importing {
namespace {

namespace fs = std::filesystem;
using libraries::EquippedSystem;
using link::Wiring;
using ::testing::Contains;
using ::testing::HasSubstr;

const fs::path source = support::source_dir();

NcclTopoOptions options() {
  NcclTopoOptions options;
  options.configs = source / "configs";
  options.out_folder = source / "configs/systems";
  return options;
}

// Returns the path and value of every key of a system, except its description.
std::vector<std::pair<std::string, std::string>> said(const config::Node& tree) {
  config::Diagnostics diagnostics;
  std::vector<config::Provenance> provenance;
  EXPECT_TRUE(libraries::read_system(tree, diagnostics, &provenance).has_value()) << diagnostics.str();
  std::vector<std::pair<std::string, std::string>> all;
  for (const config::Provenance& value : provenance) {
    if (value.path != "description") all.emplace_back(value.path, value.value);
  }
  return all;
}

config::Node tree_of(const std::string& yaml) {
  config::Diagnostics diagnostics;
  const auto tree = config::load_text((source / "configs/systems/imported.yaml").string(), yaml, {}, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  return tree.value_or(config::Node{});
}

EquippedSystem system_of(const Imported& imported) {
  config::Diagnostics diagnostics;
  return libraries::read_system(tree_of(imported.yaml), diagnostics).value_or(EquippedSystem{});
}

TEST(NcclSystem, OurOwnDumpIsTheShippedSystem) {
  config::Diagnostics diagnostics;
  NcclTopoOptions with_graph = options();
  with_graph.graph = (source / "tests/import/h200x4.graph.xml").string();
  const auto imported =
      import_nccl_topo((source / "tests/import/h200x4.topology.xml").string(), with_graph, diagnostics);
  ASSERT_TRUE(imported.has_value()) << diagnostics.str();
  const auto shipped = config::load(source / "configs/systems/4xh200.yaml", {}, diagnostics);
  ASSERT_TRUE(shipped.has_value());
  const auto of_import = said(tree_of(imported->yaml));
  EXPECT_GT(of_import.size(), 100U);
  auto of_file = said(*shipped);
  // A dump says nothing about the memory of the host.
  std::erase_if(of_file, [](const auto& one) { return one.first.starts_with("node.host_memory."); });
  EXPECT_EQ(of_import, of_file);
}

struct Built {
  std::optional<Imported> imported;
  std::string errors;
};

Built build(const std::string& inside, const NcclTopoOptions& how = options()) {
  config::Diagnostics diagnostics;
  Built built;
  built.imported = import_nccl_topo_text("dump.xml", "<system version=\"1\">" + inside + "</system>", how, diagnostics);
  built.errors = diagnostics.str();
  EXPECT_EQ(built.imported.has_value(), diagnostics.ok());
  return built;
}

std::string gpu(int number, const std::string& device, const std::string& inside) {
  return fmt::format(
      "<pci busid=\"g{0}\" class=\"0x030200\" vendor=\"0x10de\" device=\"{1}\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\"><gpu dev=\"{0}\" rank=\"{0}\">{2}</gpu></pci>",
      number, device, inside);
}
const char* const to_switch = "<nvlink target=\"s\" count=\"18\" tclass=\"0x068000\"/>";
std::string nic(const std::string& name, int megabits, const std::string& device = "0x1021") {
  return fmt::format(
      "<pci busid=\"n{0}\" class=\"0x020700\" vendor=\"0x15b3\" device=\"{2}\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\"><nic><net name=\"{0}\" speed=\"{1}\" guid=\"0x1\" gdr=\"1\"/></nic></pci>",
      name, megabits, device);
}
std::string cpu(const std::string& inside) { return "<cpu>" + inside + "</cpu>"; }

TEST(NcclSystem, GpusBehindASwitchWithNics) {
  const Built built = build(
      cpu(gpu(0, "0x2330", to_switch) + gpu(1, "0x2330", to_switch) + nic("mlx5_0", 400000) + nic("mlx5_1", 400000)));
  ASSERT_TRUE(built.imported.has_value()) << built.errors;
  const EquippedSystem system = system_of(*built.imported);
  EXPECT_EQ(system.node.gpus, 2);
  EXPECT_EQ(system.node.wiring, Wiring::nvswitch);
  EXPECT_EQ(system.node.nics, 2);
  EXPECT_EQ(system.node.nic->bandwidth.value, 50e9);
  EXPECT_THAT(built.imported->yaml, HasSubstr("gpu: ../hardware/h100_sxm.yaml"));
  EXPECT_THAT(built.imported->yaml, HasSubstr("nic: ../hardware/ndr400.yaml"));
}

TEST(NcclSystem, ANoteIsInTheFileToo) {
  const Built built = build(cpu(gpu(0, "0x2330", to_switch) + gpu(1, "0x2330", to_switch) + nic("mlx5_0", 400000) +
                                nic("mlx5_1", 100000) + "<nic><net name=\"eth0\" speed=\"25000\"/></nic>"));
  ASSERT_TRUE(built.imported.has_value()) << built.errors;
  EXPECT_THAT(built.imported->notes, Contains("left out (no RDMA; sockets are not modelled): eth0 (25 Gb/s)"));
  EXPECT_THAT(built.imported->notes, Contains("left out, because all NICs must be equal: mlx5_1 (100 Gb/s)"));
  EXPECT_EQ(system_of(*built.imported).node.nics, 1);
  for (const std::string& note : built.imported->notes) {
    EXPECT_THAT(built.imported->yaml, HasSubstr("# - " + note.substr(0, 60)));
  }
}

TEST(NcclSystem, OtherNumbersThanTheHardwareFileAreTold) {
  const std::string few = "<nvlink target=\"s\" count=\"8\" tclass=\"0x068000\"/>";
  NcclTopoOptions how = options();
  how.nic = (source / "configs/hardware/hdr200.yaml").string();
  const Built built = build(cpu(gpu(0, "0x2330", few) + gpu(1, "0x2330", few) + nic("mlx5_0", 400000)), how);
  ASSERT_TRUE(built.imported.has_value()) << built.errors;
  EXPECT_THAT(built.imported->notes, Contains("the dump states 8 links a GPU, h100_sxm.yaml has 18; to use the dump's "
                                              "number: --set system.node.gpu.port.links=8"));
  EXPECT_THAT(built.imported->notes, Contains("the dump states 400 Gb/s per NIC, hdr200.yaml has 200; to use the "
                                              "dump's value: --set system.node.nic.bandwidth='400 Gb/s'"));
  EXPECT_THAT(built.imported->notes,
              Contains("the NIC's PCIe slot moves 63.0 GB/s, but hdr200.yaml states 26.8 GB/s of payload"));
}

TEST(NcclSystem, APartialMeshIsASwitchThatIsSaidToBeTooFast) {
  const auto to = [](int peer) {
    return fmt::format("<nvlink target=\"g{}\" count=\"6\" tclass=\"0x030200\"/>", peer);
  };
  const Built built =
      build(cpu(gpu(0, "0x20b2", to(1)) + gpu(1, "0x20b2", to(0)) + gpu(2, "0x20b2", to(3)) + gpu(3, "0x20b2", to(2))));
  ASSERT_TRUE(built.imported.has_value()) << built.errors;
  EXPECT_THAT(built.imported->notes, Contains(HasSubstr("only 2 of 6 pairs of GPUs have links (6 per GPU)")));
  EXPECT_EQ(system_of(*built.imported).node.wiring, Wiring::nvswitch);
  NcclTopoOptions how = options();
  how.wiring = Wiring::pcie;
  const Built chosen = build(cpu(gpu(0, "0x20b2", to(1)) + gpu(1, "0x20b2", to(0)) + gpu(2, "0x20b2", "")), how);
  ASSERT_TRUE(chosen.imported.has_value()) << chosen.errors;
  EXPECT_EQ(system_of(*chosen.imported).node.wiring, Wiring::pcie);
  EXPECT_THAT(chosen.imported->notes, Contains("the wiring is pcie, as set by --wiring"));
}

TEST(NcclSystem, WhatCannotBeToldNamesTheOption) {
  EXPECT_THAT(build(cpu(gpu(0, "0x1eb8", ""))).errors, HasSubstr("there is no hardware file for the T4"));
  EXPECT_THAT(build(cpu(gpu(0, "0x0001", ""))).errors,
              HasSubstr("unknown GPU: PCI device 0x10de:0x0001; name a hardware file with --gpu FILE"));
  EXPECT_THAT(build(cpu(gpu(0, "0x2330", "") + gpu(1, "0x2335", ""))).errors, HasSubstr("the GPUs are not equal"));
  EXPECT_THAT(build(cpu(gpu(0, "0x2330", "") + gpu(1, "0x2330", ""))).errors,
              HasSubstr("the dump has no link between GPUs, but the port of h100_sxm.yaml is not PCIe"));
  EXPECT_THAT(build(cpu(gpu(0, "0x2330", to_switch) + gpu(1, "0x2330", ""))).errors,
              HasSubstr("some GPUs have links to a switch and some have none"));
  EXPECT_THAT(build(cpu(gpu(0, "0x2330", "") + nic("mlx5_0", 25000))).errors,
              HasSubstr("there is no hardware file for the NIC: 'mlx5_0' of 25 Gb/s (PCI device 0x15b3:0x1021); name "
                        "one with --nic FILE"));
  NcclTopoOptions elsewhere = options();
  elsewhere.configs = "nowhere";
  EXPECT_THAT(build(cpu(gpu(0, "0x2330", "")), elsewhere).errors,
              HasSubstr("no such file 'nowhere/hardware/h100_sxm.yaml'"));
  NcclTopoOptions no_yaml = options();
  no_yaml.gpu = (source / "README.md").string();
  EXPECT_THAT(build(cpu(gpu(0, "0x2330", "")), no_yaml).errors, HasSubstr("is not a hardware file"));
}

TEST(NcclSystem, WhatMoireCannotSimulateIsRefused) {
  // The port of an MI210 has 3 links. In a mesh of five GPUs, each GPU needs 4.
  std::string gpus;
  for (int g = 0; g < 5; ++g) {
    std::string links;
    for (int peer = 0; peer < 5; ++peer) {
      if (peer != g) links += fmt::format("<xgmi target=\"g{}\" count=\"1\" tclass=\"0x038000\"/>", peer);
    }
    gpus += fmt::format(
        "<pci busid=\"g{0}\" class=\"0x038000\" vendor=\"0x1002\" device=\"0x740f\"><gpu dev=\"{0}\" sm=\"104\" "
        "gcn=\"gfx90a\">{1}</gpu></pci>",
        g, links);
  }
  EXPECT_THAT(build(cpu(gpus)).errors, HasSubstr("needs 4 links per GPU, but the port has 3"));
}

TEST(NcclSystem, NamesOfTheDumpCannotWriteYaml) {
  const Built built = build(cpu(gpu(0, "0x2330", "") + "<nic><net name=\"eth0&#10;nodes: 9&#133;x: 1\"/></nic>"));
  ASSERT_TRUE(built.imported.has_value()) << built.errors;
  EXPECT_EQ(system_of(*built.imported).nodes, 1);
  EXPECT_THAT(built.imported->notes, Contains(HasSubstr("eth0?nodes: 9??x: 1 (10 Gb/s)")));
}

// A third-party dump in the folder shared_data(), the options that it needs, and values of the expected system.
struct Foreign {
  const char* file;
  const char* gpu;  // options that the file needs; "" if none
  const char* nic;
  const char* wiring;
  std::int64_t gpus;
  Wiring expected;
  std::int64_t nics;
  const char* hardware;  // expected file of the GPU
};

class ForeignDumps : public ::testing::TestWithParam<Foreign> {};

fs::path shared_data() {
  if (const char* folder = std::getenv("MOIRE_SHARED_DATA")) return folder;
  return source / "../shared/data";
}

TEST_P(ForeignDumps, BecomesTheSystemItIs) {
  const Foreign& foreign = GetParam();
  const fs::path file = shared_data() / "nccl-topo" / foreign.file;
  if (!fs::exists(file)) GTEST_SKIP() << "third-party file " << file << " is missing";
  config::Diagnostics diagnostics;
  NcclTopoOptions how = options();
  if (*foreign.gpu) how.gpu = (source / "configs/hardware" / foreign.gpu).string();
  if (*foreign.nic) {
    how.nic = std::string(foreign.nic) == "none" ? "none" : (source / "configs/hardware" / foreign.nic).string();
  }
  if (std::string(foreign.wiring) == "nvswitch") how.wiring = Wiring::nvswitch;
  const auto imported = import_nccl_topo(file.string(), how, diagnostics);
  ASSERT_TRUE(imported.has_value()) << diagnostics.str();
  const EquippedSystem system = system_of(*imported);
  EXPECT_EQ(system.node.gpus, foreign.gpus);
  EXPECT_EQ(system.node.wiring, foreign.expected);
  EXPECT_EQ(system.node.nics, foreign.nics);
  EXPECT_THAT(imported->yaml, HasSubstr(fmt::format("gpu: ../hardware/{}", foreign.hardware)));
  EXPECT_TRUE(system.software.library.has_value());
  // The options are necessary: without them the import fails, and its messages name each missing option.
  if (*foreign.gpu || *foreign.nic || *foreign.wiring) {
    config::Diagnostics wrong;
    EXPECT_FALSE(import_nccl_topo(file.string(), options(), wrong).has_value());
    if (*foreign.gpu) {
      EXPECT_THAT(wrong.str(), HasSubstr("--gpu"));
    }
    if (*foreign.nic) {
      EXPECT_THAT(wrong.str(), HasSubstr("--nic"));
    }
    if (*foreign.wiring) {
      EXPECT_THAT(wrong.str(), HasSubstr("--wiring"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, ForeignDumps,
    ::testing::Values(Foreign{"azure-ncv4-topo.xml", "", "", "", 4, Wiring::pcie, 0, "a100_80g_pcie.yaml"},
                      Foreign{"azure-ndv2-topo.xml", "v100_sxm2.yaml", "edr100.yaml", "nvswitch", 8, Wiring::nvswitch,
                              1, "v100_sxm2.yaml"},
                      Foreign{"azure-ndv4-topo.xml", "a100_80g_sxm.yaml", "hdr200.yaml", "nvswitch", 8,
                              Wiring::nvswitch, 8, "a100_80g_sxm.yaml"},
                      Foreign{"azure-ndv5-topo.xml", "h100_sxm.yaml", "ndr400.yaml", "nvswitch", 8, Wiring::nvswitch, 8,
                              "h100_sxm.yaml"},
                      Foreign{"aws-p4d-24xl-topo.xml", "", "none", "", 8, Wiring::nvswitch, 0, "a100_80g_sxm.yaml"},
                      Foreign{"aws-p4de-24xl-topo.xml", "", "edr100.yaml", "", 8, Wiring::nvswitch, 4,
                              "a100_80g_sxm.yaml"},
                      Foreign{"made-hgx-a100-8gpu-topo.xml", "", "", "", 8, Wiring::nvswitch, 8, "a100_80g_sxm.yaml"},
                      Foreign{"made-hgx-h100-8gpu-topo.xml", "", "", "", 8, Wiring::nvswitch, 8, "h100_sxm.yaml"},
                      Foreign{"rccl-topo_8p_940.xml", "", "", "", 8, Wiring::full_mesh, 8, "mi300x.yaml"},
                      Foreign{"rccl-topo_8p_940vm.xml", "", "", "", 8, Wiring::full_mesh, 8, "mi300x.yaml"},
                      Foreign{"rccl-topo_8p_90a.xml", "", "", "", 8, Wiring::nvswitch, 0, "mi210.yaml"},
                      Foreign{"rccl-topo_16p1h.xml", "", "", "", 16, Wiring::nvswitch, 8, "mi210.yaml"},
                      Foreign{"rccl-topo_8p6l_6nic.xml", "mi210.yaml", "", "", 8, Wiring::nvswitch, 6, "mi210.yaml"},
                      Foreign{"rccl-topo_8p_rome_4n_1.xml", "mi210.yaml", "", "", 8, Wiring::nvswitch, 4, "mi210.yaml"},
                      Foreign{"rccl-topo_collnet_n4.xml", "mi210.yaml", "", "", 8, Wiring::nvswitch, 4, "mi210.yaml"}),
    [](const auto& tested) {
      std::string name;
      for (const char c : std::string(tested.param.file)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

TEST(NcclSystem, ForeignFilesThatAreNoDumpsAreTold) {
  const fs::path folder = shared_data() / "nccl-topo";
  if (!fs::exists(folder)) GTEST_SKIP() << "third-party files " << folder << " are missing";
  const auto errors = [&folder](const char* file) {
    config::Diagnostics diagnostics;
    EXPECT_FALSE(import_nccl_topo((folder / file).string(), options(), diagnostics).has_value());
    return diagnostics.str();
  };
  EXPECT_THAT(errors("aws-g5.48xl-topo.xml"), HasSubstr("9 PCI devices have neither class nor device"));
  EXPECT_THAT(errors("azure-ncv4-graph.xml"), HasSubstr("this is a graph dump"));
  EXPECT_THAT(errors("made-hgx-h100-nvidia-smi-topo-m.txt"), HasSubstr("the text of 'nvidia-smi topo -m'"));
  EXPECT_THAT(errors("README.md"), HasSubstr("this is no XML"));
}

TEST(NcclSystem, AGraphOfTheSameMachineAgrees) {
  const fs::path folder = shared_data() / "nccl-topo";
  if (!fs::exists(folder)) GTEST_SKIP() << "third-party files " << folder << " are missing";
  NcclTopoOptions how = options();
  how.graph = (folder / "azure-ncv4-graph.xml").string();
  config::Diagnostics diagnostics;
  const auto imported = import_nccl_topo((folder / "azure-ncv4-topo.xml").string(), how, diagnostics);
  ASSERT_TRUE(imported.has_value()) << diagnostics.str();
  EXPECT_THAT(imported->yaml, HasSubstr("ring: 2 channels of 12 GB/s, worst path SYS"));
  EXPECT_THAT(imported->notes, ::testing::Not(Contains(HasSubstr("NCCL's rings use"))));
}

}  // namespace
}  // namespace moire::importing
