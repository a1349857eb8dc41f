// Reads a topology dump of NCCL or RCCL (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE), which describes one machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::importing {

struct PciDevice {
  std::string bus_id;
  std::uint32_t pci_class = 0;  // such as 0x030200; 0: not given
  std::uint32_t vendor = 0;     // 0: not given
  std::uint32_t device = 0;
  double transfers = 0;  // GT/s per lane of the slot; 0: not given
  std::int64_t width = 16;
  std::vector<std::size_t> path;  // ids of the XML elements from the root to this device
  std::size_t cpu = 0;
  config::Place place;

  double raw_bandwidth() const;  // returns the slot's B/s per direction, without line coding; 0: not given
};

enum class LinkKind { nvlink, xgmi, c2c };

struct TopologyLink {
  LinkKind kind = LinkKind::nvlink;
  std::string target;
  std::int64_t count = 0;
  std::uint32_t target_class = 0;
  config::Place place;
};

struct TopologyGpu {
  PciDevice pci;
  bool described = false;  // true if the dump has a <gpu> element for it; topology files of clouds have none
  std::int64_t order = 0;  // attribute rank, else attribute dev, else position in the file
  std::int64_t sm = 0;     // NVIDIA: compute capability x 10; AMD: compute units
  std::string gcn;         // AMD: "gfx942", or "910" for gfx90a
  std::vector<TopologyLink> links;
};

struct TopologyNic {
  std::string name;
  std::int64_t order = 0;  // attribute dev, else position in the file
  std::int64_t megabits = 0;
  bool rdma = false;                  // false: a network interface that NCCL uses through sockets
  bool gpu_direct = false;            // attribute gdr
  bool in_network_reduction = false;  // attribute coll
  std::optional<PciDevice> pci;       // absent if the NIC is directly under a CPU
  config::Place place;
};

struct Topology {
  std::int64_t version = 0;
  std::vector<TopologyGpu> gpus;         // sorted by order
  std::vector<TopologyNic> nics;         // sorted by order
  std::vector<PciDevice> network_cards;  // PCI devices of class 0x02.. that have no <net>
  std::size_t unclassed = 0;             // PCI devices that have neither a class nor child elements
  std::size_t cpus = 0;
  std::size_t bridges = 0;
  std::size_t hosts = 1;             // number of different host_hash values
  bool uneven_gpus = false;          // true if only some GPUs have a <gpu> element; `gpus` has only these
  std::vector<std::string> unknown;  // names of elements that were ignored, once each
  config::Place place;

  bool described() const { return !gpus.empty() && gpus.front().described; }
};

inline constexpr std::size_t most_gpus = 72;                 // GPUs of a node
inline constexpr std::uintmax_t most_dump_bytes = 16 << 20;  // a dump of 8 GPUs has about 10 KB

// Returns the contents of a dump. If the text is not a topology dump, reports all errors and returns nothing.
std::optional<Topology> read_nccl_topology(const std::string& name, const std::string& text,
                                           config::Diagnostics& diagnostics);

// True if the first element of an XML text is <name>. Does not check the rest of the text.
bool starts_with_element(std::string_view text, std::string_view name);

// Returns what a text is if it cannot be a topology dump, such as "the text of 'nvidia-smi topo -m'". Returns an empty
// text if it can be a dump.
std::string other_than_topology(const std::string& text);

}  // namespace moire::importing
