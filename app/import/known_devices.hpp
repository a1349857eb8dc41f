// Which GPU or NIC a PCI id is (the public PCI ID repository), and which of our hardware files describes it.
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
  std::string_view file;  // in configs/hardware; "" where none ships
  GpuForm form = GpuForm::module;
  std::string_view remark;  // where the file is that of a relative: what differs
};

inline constexpr std::uint32_t nvidia = 0x10de;
inline constexpr std::uint32_t amd = 0x1002;
inline constexpr std::uint32_t mellanox = 0x15b3;

// By PCI id, else (AMD) by architecture and number of compute units; nullptr where neither is known.
const KnownGpu* known_gpu(const TopologyGpu& gpu);
bool is_amd(const TopologyGpu& gpu);
// How that many of them are linked in the machines that are sold; nothing where there are several ways.
std::optional<link::Wiring> usual_wiring(const KnownGpu& gpu, std::size_t gpus);

// "NVIDIA 0x2335 (sm 90)", "gfx908 with 120 CUs": what the dump says of it.
std::string what_is_said(const TopologyGpu& gpu);

// GB/s of one link as NCCL and RCCL reckon with; 0 where we know none.
double library_link_rate(const TopologyGpu& gpu, LinkKind kind);

struct KnownNic {
  std::string_view file;    // in configs/hardware; "" where none fits
  std::string_view remark;  // what differs from the file
};
KnownNic known_nic(std::int64_t megabits, const std::string& name, const PciDevice* pci);
// A card of which only the PCI device is known.
KnownNic known_card(const PciDevice& pci);
std::string what_is_said(const PciDevice& card);

}  // namespace moire::importing
