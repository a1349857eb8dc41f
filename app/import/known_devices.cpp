#include "app/import/known_devices.hpp"

#include <fmt/format.h>

#include <array>

#include "app/import/system_file.hpp"

namespace moire::importing {

namespace {

constexpr std::string_view a100_40g =
    "the file describes the 80 GB version, whose memory is larger and 31 % faster (2,039 instead of 1,555 GB/s)";
constexpr std::string_view a100_40g_pcie =
    "the file describes the 80 GB version, whose memory is larger and 24 % faster (1,935 instead of 1,555 GB/s)";
constexpr std::string_view mi250 =
    "each of its dies is a GPU here, and the file describes the MI210, which is such a die with 104 CUs and three "
    "links";

constexpr std::array known_gpus = {
    KnownGpu{nvidia, 0x1db1, "V100 SXM2 16 GB", "v100_sxm2.yaml", GpuForm::module,
             "the file describes the 32 GB version"},
    KnownGpu{nvidia, 0x1db5, "V100 SXM2 32 GB", "v100_sxm2.yaml", GpuForm::module, ""},
    KnownGpu{nvidia, 0x1df5, "V100 SXM2 16 GB", "v100_sxm2.yaml", GpuForm::module,
             "the file describes the 32 GB version"},
    KnownGpu{nvidia, 0x1db8, "V100 SXM3 32 GB", "v100_sxm2.yaml", GpuForm::module, ""},
    KnownGpu{nvidia, 0x1db4, "V100 PCIe 16 GB", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x1db6, "V100 PCIe 32 GB", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x1df6, "V100S PCIe 32 GB", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x1eb8, "T4", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x20b0, "A100 SXM4 40 GB", "a100_80g_sxm.yaml", GpuForm::module, a100_40g},
    KnownGpu{nvidia, 0x20b2, "A100 SXM4 80 GB", "a100_80g_sxm.yaml", GpuForm::module, ""},
    KnownGpu{nvidia, 0x20b1, "A100 PCIe 40 GB", "a100_80g_pcie.yaml", GpuForm::card, a100_40g_pcie},
    KnownGpu{nvidia, 0x20f1, "A100 PCIe 40 GB", "a100_80g_pcie.yaml", GpuForm::card, a100_40g_pcie},
    KnownGpu{nvidia, 0x20b5, "A100 PCIe 80 GB", "a100_80g_pcie.yaml", GpuForm::card, ""},
    KnownGpu{nvidia, 0x20b7, "A30", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x20f3, "A800 SXM4 80 GB", "", GpuForm::module, ""},
    KnownGpu{nvidia, 0x20f5, "A800 PCIe 80 GB", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x2236, "A10", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x2237, "A10G", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x26b5, "L40", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x26ba, "L20", "l20_pcie.yaml", GpuForm::card, ""},
    KnownGpu{nvidia, 0x27b8, "L4", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x2322, "H800 PCIe", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x2324, "H800 SXM5", "h800_sxm.yaml", GpuForm::module, ""},
    KnownGpu{nvidia, 0x2329, "H20", "h20.yaml", GpuForm::module, ""},
    KnownGpu{nvidia, 0x2330, "H100 SXM5 80 GB", "h100_sxm.yaml", GpuForm::module, ""},
    KnownGpu{nvidia, 0x2331, "H100 PCIe", "", GpuForm::card, ""},
    KnownGpu{nvidia, 0x2335, "H200 SXM5", "h200.yaml", GpuForm::module, ""},
    KnownGpu{amd, 0x66a1, "MI50 or MI60", "", GpuForm::card, ""},
    KnownGpu{amd, 0x738c, "MI100", "", GpuForm::card, ""},
    KnownGpu{amd, 0x738e, "MI100", "", GpuForm::card, ""},
    KnownGpu{amd, 0x7408, "MI250X", "mi210.yaml", GpuForm::module, mi250},
    KnownGpu{amd, 0x740c, "MI250 or MI250X", "mi210.yaml", GpuForm::module, mi250},
    KnownGpu{amd, 0x740f, "MI210", "mi210.yaml", GpuForm::card, ""},
    KnownGpu{amd, 0x74a1, "MI300X", "mi300x.yaml", GpuForm::module, ""},
    KnownGpu{amd, 0x74b5, "MI300X (virtual function)", "mi300x.yaml", GpuForm::module, ""},
};

// An AMD GPU, identified by its architecture and number of CUs, for dumps without PCI device ids.
struct ByArchitecture {
  std::string_view gcn;
  std::int64_t cus;
  KnownGpu gpu;
};
constexpr std::array by_architecture = {
    ByArchitecture{"gfx942",
                   304,
                   {amd, 0, "MI300X", "mi300x.yaml", GpuForm::module,
                    "it is identified by architecture and number of CUs alone; an MI325X has the same, but larger and "
                    "faster memory"}},
    ByArchitecture{
        "gfx90a",
        104,
        {amd, 0, "MI210 or a die of an MI250", "mi210.yaml", GpuForm::module,
         "it is identified by architecture and number of CUs alone; the file describes the MI210, with three links"}},
    ByArchitecture{"gfx90a", 110, {amd, 0, "die of an MI250X", "mi210.yaml", GpuForm::module, mi250}},
    ByArchitecture{"gfx908", 120, {amd, 0, "MI100", "", GpuForm::card, ""}},
};

// Returns the name of an architecture, such as "gfx90a". RCCL before 2023 wrote numbers into dumps instead: 908, 910
// for gfx90a, 942.
std::string architecture(const std::string& gcn) {
  if (gcn == "910") return "gfx90a";
  if (!gcn.empty() && gcn.find_first_not_of("0123456789") == std::string::npos) return "gfx" + gcn;
  return gcn.substr(0, gcn.find(':'));  // gfx90a:sramecc+:xnack-
}

}  // namespace

const KnownGpu* known_gpu(const TopologyGpu& gpu) {
  for (const KnownGpu& known : known_gpus) {
    if (gpu.pci.vendor == known.vendor && gpu.pci.device == known.device) return &known;
  }
  if (gpu.pci.device != 0) return nullptr;
  for (const ByArchitecture& known : by_architecture) {
    if (architecture(gpu.gcn) == known.gcn && gpu.sm == known.cus) return &known.gpu;
  }
  return nullptr;
}

std::optional<link::Wiring> usual_wiring(const KnownGpu& gpu, std::size_t gpus) {
  using link::Wiring;
  if (gpu.form == GpuForm::card) return Wiring::pcie;
  const std::string_view name = gpu.name;
  const bool sixteen = name.starts_with("A100") || name.starts_with("V100 SXM3");
  const bool eight = sixteen || name.starts_with("H100") || name.starts_with("H200") || name.starts_with("H800");
  if ((gpus == 8 && eight) || (gpus == 16 && sixteen)) return Wiring::nvswitch;
  if (gpus == 8 && name.starts_with("MI300X")) return Wiring::full_mesh;
  return std::nullopt;
}

bool is_amd(const TopologyGpu& gpu) { return gpu.pci.vendor == amd || (gpu.pci.vendor == 0 && !gpu.gcn.empty()); }

std::string what_is_said(const TopologyGpu& gpu) {
  std::string device;
  if (gpu.pci.device != 0) device = fmt::format("PCI device {:#06x}:{:#06x}", gpu.pci.vendor, gpu.pci.device);
  std::string rest;
  if (!gpu.gcn.empty()) {
    rest = fmt::format("{} with {} CUs", printable(architecture(gpu.gcn)), gpu.sm);
  } else if (gpu.sm != 0) {
    rest = fmt::format("sm {}", gpu.sm);
  }
  if (device.empty()) return rest.empty() ? "a GPU without a PCI device id" : rest + ", no PCI device id";
  return rest.empty() ? device : device + ", " + rest;
}

double library_link_rate(const TopologyGpu& gpu, LinkKind kind) {
  if (kind == LinkKind::xgmi) {
    if (architecture(gpu.gcn) == "gfx90a") return 36;
    return architecture(gpu.gcn).starts_with("gfx94") ? 48 : 0;
  }
  if (kind != LinkKind::nvlink) return 0;
  if (gpu.sm == 70 || gpu.sm == 80) return 20;
  if (gpu.sm == 90) return 20.6;
  return gpu.sm == 100 ? 40.1 : 0;
}

KnownNic known_nic(std::int64_t megabits, const std::string& name, const PciDevice* pci) {
  if (!name.starts_with("mlx5_") && !(pci && pci->vendor == mellanox)) return {};
  const bool connectx7 = pci && pci->vendor == mellanox && pci->device == 0x1021;
  const bool ethernet = pci && pci->pci_class >> 8 == 0x0200;
  constexpr std::string_view infiniband =
      "the file describes an InfiniBand NIC, but this one is Ethernet, with longer headers";
  switch (megabits) {
    case 400000:
      return {"ndr400.yaml", ethernet ? infiniband : ""};
    case 200000:
      if (connectx7)
        return {"cx7_200.yaml", ethernet ? "" : "the file describes Ethernet (RoCE v2), but this NIC is InfiniBand"};
      return {"hdr200.yaml", ethernet ? infiniband : ""};
    case 100000:
      return {"edr100.yaml", ethernet ? infiniband : ""};
    default:
      return {};
  }
}

KnownNic known_card(const PciDevice& pci) {
  if (pci.vendor != mellanox || pci.pci_class >> 8 != 0x0207) return {};
  constexpr std::string_view remark = "the dump does not state the speed; the card's highest speed is used";
  if (pci.device == 0x1021) return {"ndr400.yaml", remark};
  if (pci.device == 0x101b) return {"hdr200.yaml", remark};
  if (pci.device == 0x1017 || pci.device == 0x1019) return {"edr100.yaml", remark};
  return {};
}

std::string what_is_said(const PciDevice& card) {
  if (card.vendor == 0x1d0f && card.device >> 4 == 0xefa) return "Elastic Fabric Adapter";
  if (card.device != 0) return fmt::format("PCI device {:#06x}:{:#06x}", card.vendor, card.device);
  return fmt::format("a card of class {:#08x} without a PCI device id", card.pci_class);
}

}  // namespace moire::importing
