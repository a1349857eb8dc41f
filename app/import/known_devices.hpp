// Identifies GPUs and NICs by PCI id (from the public PCI ID repository) and finds the hardware file that describes
// them.
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
  std::string_view remark;  // differences, if the file describes a similar GPU
};

inline constexpr std::uint32_t nvidia = 0x10de;
inline constexpr std::uint32_t amd = 0x1002;
inline constexpr std::uint32_t mellanox = 0x15b3;

// Finds a GPU by its PCI id, or an AMD GPU without one by its architecture and number of compute units; nullptr if
// unknown.
const KnownGpu* known_gpu(const TopologyGpu& gpu);
bool is_amd(const TopologyGpu& gpu);
// Returns how commercial machines with this number of GPUs of this kind are wired; nothing if there are several ways.
std::optional<link::Wiring> usual_wiring(const KnownGpu& gpu, std::size_t gpus);

// Returns what the dump says about the GPU: "PCI device 0x10de:0x2335, sm 90", "gfx908 with 120 CUs, no PCI device id".
std::string what_is_said(const TopologyGpu& gpu);

// Returns the bandwidth of one link in GB/s that NCCL and RCCL assume; 0 if unknown.
double library_link_rate(const TopologyGpu& gpu, LinkKind kind);

struct KnownNic {
  std::string_view file;    // in configs/hardware; "" if there is none
  std::string_view remark;  // differences from the file
};
KnownNic known_nic(std::int64_t megabits, const std::string& name, const PciDevice* pci);
// Finds the file for a card that the dump describes only as a PCI device.
KnownNic known_card(const PciDevice& pci);
std::string what_is_said(const PciDevice& card);

}  // namespace moire::importing
