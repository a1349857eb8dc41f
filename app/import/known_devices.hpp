// Identifies GPUs and NICs by their PCI ids, which come from the public PCI ID repository, and finds the hardware files
// that describe them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/import/nccl_topology.hpp"
#include "models/hardware/link/spec.hpp"

namespace moire::importing {

enum class GpuForm {
  module,  // on a board that links the modules: SXM, OAM
  card,    // in a PCIe slot
};

struct KnownGpu {
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::string_view name;
  std::string_view file;  // in configs/hardware; "" if there is none
  GpuForm form = GpuForm::module;
  std::string_view remark;  // how this GPU differs from the one in `file`; "" if it is the same
};

inline constexpr std::uint32_t nvidia = 0x10de;
inline constexpr std::uint32_t amd = 0x1002;
inline constexpr std::uint32_t mellanox = 0x15b3;

// Finds a GPU by its PCI id. If the dump has no PCI id of the GPU, finds an AMD GPU by its architecture and number of
// compute units. Returns nullptr if the GPU is not known.
const KnownGpu* known_gpu(const TopologyGpu& gpu);
bool is_amd(const TopologyGpu& gpu);
// Returns how machines on the market with this number of such GPUs are wired. Returns nothing if they are wired in
// several ways or not known.
std::optional<link::Wiring> usual_wiring(const KnownGpu& gpu, std::size_t gpus);

// Returns what the dump says about the GPU: "PCI device 0x10de:0x2335, sm 90", "gfx908 with 120 CUs, no PCI device id".
std::string what_is_said(const TopologyGpu& gpu);

// Returns the bandwidth of one link in GB/s that NCCL and RCCL assume; 0 if unknown.
double library_link_rate(const TopologyGpu& gpu, LinkKind kind);

struct KnownNic {
  std::string_view file;    // in configs/hardware; "" if there is none
  std::string_view remark;  // how the NIC differs from the one in `file`; "" if it is the same
};
// Finds the hardware file of a NIC by its speed in Mbit/s, its name and, if `pci` is not null, its PCI id.
KnownNic known_nic(std::int64_t megabits, const std::string& name, const PciDevice* pci);
// Finds the hardware file of a network card that the dump describes only as a PCI device.
KnownNic known_card(const PciDevice& pci);
std::string what_is_said(const PciDevice& card);

}  // namespace moire::importing
