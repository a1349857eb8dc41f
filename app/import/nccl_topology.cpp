#include "app/import/nccl_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "app/import/system_file.hpp"
#include "sim/config/suggest.hpp"
#include "sim/formats/number.hpp"
#include "sim/formats/xml.hpp"

namespace moire::importing {

namespace {

using formats::Complaints;
using formats::XmlText;

// True if an RDMA driver gives such names to its network interfaces.
bool rdma_name(std::string_view name) {
  for (const std::string_view prefix :
       {"mlx4_", "mlx5_", "bnxt_re", "irdma", "rdmap", "efa", "hfi1_", "cxgb4_", "qedr", "hns_", "erdma", "ionic_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

class Reader {
 public:
  Reader(const XmlText& xml, Complaints& complaints) : xml_(xml), complaints_(complaints) {}

  void system(const pugi::xml_node& system) {
    topology_.place = place_of(system);
    topology_.version = number(system, "version", 1, 0, 1000);
    for (const pugi::xml_node& child : elements(system)) {
      if (child.name() == std::string_view("cpu")) {
        cpu(child);
      } else {
        unknown(child);
      }
    }
  }

  Topology take() {
    topology_.hosts = std::max<std::size_t>(1, hosts_.size());
    order_gpus();
    order_nics();
    topology_.unknown.assign(unknown_.begin(), unknown_.end());
    return std::move(topology_);
  }

 private:
  config::Place place_of(const pugi::xml_node& element) const { return complaints_.place(xml_.position(element)); }

  std::vector<pugi::xml_node> elements(const pugi::xml_node& parent) {
    std::vector<pugi::xml_node> found;
    for (const pugi::xml_node& child : parent.children()) {
      if (child.type() == pugi::node_element) {
        found.push_back(child);
      } else if (child.type() == pugi::node_pcdata) {
        complaints_.error(xml_.position(child), "there is text between elements",
                          "remove it: a dump consists of elements only");
      }
    }
    return found;
  }

  void unknown(const pugi::xml_node& element) { unknown_.insert(printable(element.name())); }

  std::int64_t number(const pugi::xml_node& element, const char* name, std::int64_t absent, std::int64_t low,
                      std::int64_t high) {
    const pugi::xml_attribute attribute = element.attribute(name);
    if (!attribute || *attribute.value() == '\0') return absent;
    const auto value = formats::any_base_number_in<std::int64_t>(attribute.value());
    if (value && *value >= low && *value <= high) return *value;
    complaints_.error(xml_.position(element, name),
                      fmt::format("{} of <{}> is {}", name, element.name(), config::in_quotes(attribute.value())),
                      fmt::format("write an integer from {} to {}", low, high));
    return absent;
  }

  std::uint32_t code(const pugi::xml_node& element, const char* name) {
    return static_cast<std::uint32_t>(number(element, name, 0, 0, 0xffffff));
  }

  bool is_flag_set(const pugi::xml_node& element, const char* name) { return number(element, name, 0, 0, 1) != 0; }

  void cpu(const pugi::xml_node& element) {
    const std::size_t index = topology_.cpus++;
    if (const char* hash = element.attribute("host_hash").value(); *hash != '\0') hosts_.insert(hash);
    path_.push_back(next_id_++);
    inside(element, index, nullptr);
    path_.pop_back();
  }

  // Reads the elements inside a CPU or a PCI device. Returns false if there are none.
  bool inside(const pugi::xml_node& parent, std::size_t cpu, const PciDevice* slot) {
    bool any = false;
    for (const pugi::xml_node& child : elements(parent)) {
      const std::string_view name = child.name();
      any = true;
      if (name == "pci") {
        pci(child, cpu);
      } else if (name == "gpu" && slot) {
        gpu(child, *slot);
      } else if (name == "nic") {
        nic(child, slot);
      } else if (name == "net") {
        net(child, slot);
      } else if (name == "gpu") {
        complaints_.error(xml_.position(child), "there is a <gpu> outside of <pci>",
                          "write a GPU as a PCI device: <pci ...><gpu/></pci>");
      } else {
        unknown(child);
      }
    }
    return any;
  }

  void pci(const pugi::xml_node& element, std::size_t cpu) {
    PciDevice slot;
    slot.place = place_of(element);
    slot.bus_id = element.attribute("busid").value();
    if (slot.bus_id.empty())
      complaints_.error(slot.place, "there is a <pci> without busid", "write busid=\"0000:10:00.0\"");
    slot.pci_class = code(element, "class");
    slot.vendor = code(element, "vendor");
    slot.device = code(element, "device");
    slot.transfers = transfers(element);
    slot.width = number(element, "link_width", 16, 0, 64);
    if (slot.width == 0) slot.width = 16;  // virtual machines report 0; NCCL assumes 16, too
    slot.cpu = cpu;
    path_.push_back(next_id_++);
    slot.path = path_;
    const std::size_t gpus = topology_.gpus.size();
    const std::size_t nics = topology_.nics.size();
    const bool anything = inside(element, cpu, &slot);
    path_.pop_back();
    if (topology_.gpus.size() > gpus || topology_.nics.size() > nics) {
      if (slot.pci_class >> 8 == 0x0604) ++topology_.bridges;
      return;
    }
    without_content(slot, anything);
  }

  void without_content(const PciDevice& slot, bool anything) {
    const std::uint32_t kind = slot.pci_class >> 16;
    if (slot.pci_class >> 8 == 0x0604) {
      ++topology_.bridges;
    } else if (kind == 0x03 || kind == 0x12) {
      TopologyGpu gpu;
      gpu.pci = slot;
      add(std::move(gpu));
    } else if (kind == 0x02) {
      topology_.network_cards.push_back(slot);
    } else if (slot.pci_class == 0 && !anything) {
      ++topology_.unclassed;
    }
  }

  // Returns the GT/s of a text such as "32.0 GT/s PCIe", or 0 if NCCL does not know this rate.
  double transfers(const pugi::xml_node& element) {
    const std::string_view text = element.attribute("link_speed").value();
    double rate = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    if (error != std::errc() || !std::string_view(end, text.data() + text.size() - end).starts_with(" GT/s")) return 0;
    for (const double known : {2.5, 5.0, 8.0, 16.0, 32.0, 64.0}) {
      if (rate == known) return rate;
    }
    return 0;
  }

  void gpu(const pugi::xml_node& element, const PciDevice& slot) {
    TopologyGpu gpu;
    gpu.pci = slot;
    gpu.described = true;
    gpu.order = number(element, "rank", -1, -1, 1 << 20);
    if (gpu.order < 0) gpu.order = number(element, "dev", static_cast<std::int64_t>(topology_.gpus.size()), 0, 1 << 20);
    gpu.sm = number(element, "sm", 0, 0, 100000);
    gpu.gcn = element.attribute("gcn").value();
    for (const pugi::xml_node& child : elements(element)) {
      const std::string_view name = child.name();
      if (name == "nvlink") {
        link(child, LinkKind::nvlink, gpu);
      } else if (name == "xgmi") {
        link(child, LinkKind::xgmi, gpu);
      } else if (name == "c2c") {
        link(child, LinkKind::c2c, gpu);
      } else {
        unknown(child);
      }
    }
    add(std::move(gpu));
  }

  void link(const pugi::xml_node& element, LinkKind kind, TopologyGpu& gpu) {
    TopologyLink& link = gpu.links.emplace_back();
    link.kind = kind;
    link.place = place_of(element);
    link.count = number(element, "count", 1, 0, 1024);
    if (kind == LinkKind::c2c) return;
    link.target = element.attribute("target").value();
    link.target_class = code(element, "tclass");
    if (link.target.empty()) {
      complaints_.error(link.place, fmt::format("a <{}> without target", element.name()),
                        "write the bus id of the device at the other end of the link");
    }
  }

  void add(TopologyGpu gpu) {
    if (topology_.gpus.size() == most_gpus) {
      complaints_.error(gpu.pci.place, fmt::format("there are more than {} GPUs in one machine", most_gpus),
                        "use the dump of one node");
    }
    if (topology_.gpus.size() > most_gpus) return;
    topology_.gpus.push_back(std::move(gpu));
  }

  void nic(const pugi::xml_node& element, const PciDevice* slot) {
    for (const pugi::xml_node& child : elements(element)) {
      if (child.name() == std::string_view("net")) {
        net(child, slot);
      } else {
        unknown(child);
      }
    }
  }

  void net(const pugi::xml_node& element, const PciDevice* slot) {
    TopologyNic nic;
    nic.place = place_of(element);
    nic.name = element.attribute("name").value();
    nic.order = number(element, "dev", static_cast<std::int64_t>(topology_.nics.size()), 0, 1 << 20);
    nic.megabits = number(element, "speed", 0, -1, 100'000'000);
    if (nic.megabits <= 0) nic.megabits = 10000;  // the speed that NCCL assumes if the driver reports none
    const std::string_view guid = element.attribute("guid").value();
    nic.rdma = rdma_name(nic.name) || (!guid.empty() && guid.find_first_not_of("0x") != std::string_view::npos);
    nic.gpu_direct = is_flag_set(element, "gdr");
    nic.in_network_reduction = is_flag_set(element, "coll");
    if (slot) nic.pci = *slot;
    if (topology_.nics.size() == most_nics) {
      complaints_.error(nic.place, fmt::format("there are more than {} NICs in one machine", most_nics),
                        "use the dump of one node");
    }
    if (topology_.nics.size() <= most_nics) topology_.nics.push_back(std::move(nic));
  }

  void order_gpus() {
    auto& gpus = topology_.gpus;
    std::set<std::string> ids;
    std::set<std::int64_t> orders;
    std::size_t described = 0;
    for (TopologyGpu& gpu : gpus) {
      if (!ids.insert(gpu.pci.bus_id).second) {
        complaints_.error(gpu.pci.place, fmt::format("a second GPU {}", config::in_quotes(gpu.pci.bus_id)),
                          "give each device its own bus id");
      }
      if (gpu.described) {
        ++described;
        if (!orders.insert(gpu.order).second) {
          complaints_.error(gpu.pci.place, fmt::format("there is a second GPU of rank {}", gpu.order),
                            "give each GPU its own rank");
        }
      }
    }
    if (described == 0) {
      for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].order = static_cast<std::int64_t>(i);
      return;
    }
    // GPUs that do not take part in the NCCL call have no <gpu> element. NCCL leaves them out, and so does Moire.
    topology_.uneven_gpus = described < gpus.size();
    std::erase_if(gpus, [](const TopologyGpu& gpu) { return !gpu.described; });
    std::stable_sort(gpus.begin(), gpus.end(),
                     [](const TopologyGpu& a, const TopologyGpu& b) { return a.order < b.order; });
  }

  void order_nics() {
    std::stable_sort(topology_.nics.begin(), topology_.nics.end(),
                     [](const TopologyNic& a, const TopologyNic& b) { return a.order < b.order; });
  }

  static constexpr std::size_t most_nics = 1024;

  const XmlText& xml_;
  Complaints& complaints_;
  Topology topology_;
  std::vector<std::size_t> path_;
  std::size_t next_id_ = 0;
  std::set<std::string> hosts_;
  std::set<std::string> unknown_;
};

}  // namespace

double PciDevice::raw_bandwidth() const {
  // Line coding is 8b/10b up to PCIe 2 and 128b/130b up to PCIe 5. PCIe 6 has FLITs of 256 bytes with 242 bytes of
  // data.
  const double coding = transfers < 8 ? 0.8 : transfers < 64 ? 128.0 / 130 : 242.0 / 256;
  return transfers * 1e9 * coding / 8 * static_cast<double>(width);
}

bool starts_with_element(std::string_view text, std::string_view name) {
  std::size_t at = 0;
  while ((at = text.find('<', at)) != std::string_view::npos) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with("!--")) {
      at = text.find("-->", at);
    } else if (rest.starts_with('?') || rest.starts_with('!')) {
      at = text.find('>', at);
    } else {
      const std::string_view behind = rest.substr(std::min(name.size(), rest.size()));
      return rest.starts_with(name) && !behind.empty() &&
             std::string_view(" \t\r\n/>").find(behind[0]) != std::string_view::npos;
    }
  }
  return false;
}

std::string other_than_topology(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos) return "an empty file";
  if (text[first] == '<') return {};
  const std::string_view head = std::string_view(text).substr(0, 4096);
  if (head.find("GPU0") != std::string_view::npos) return "the text of 'nvidia-smi topo -m'";
  if (text[first] == '{' || text[first] == '[') return "JSON";
  return "no XML";
}

std::optional<Topology> read_nccl_topology(const std::string& name, const std::string& text,
                                           config::Diagnostics& diagnostics) {
  const std::string how = "use the file that NCCL writes with NCCL_TOPO_DUMP_FILE=topology.xml";
  Complaints complaints(name, diagnostics);
  if (const std::string other = other_than_topology(text); !other.empty()) {
    complaints.error(formats::Position{1, 1}, fmt::format("this is {}, not a topology dump", other), how);
    return std::nullopt;
  }
  const XmlText xml(name, text, complaints, how);
  if (!xml.ok()) return std::nullopt;
  const pugi::xml_node root = xml.root();
  const std::string_view kind = root.name();
  if (kind == "graphs") {
    complaints.error(xml.position(root), "this is a graph dump (NCCL_GRAPH_DUMP_FILE), not a topology dump",
                     "pass the topology dump as FILE and this one to --graph");
    return std::nullopt;
  }
  if (kind != "system") {
    complaints.error(xml.position(root), fmt::format("the root element is <{}>, not <system>", printable(root.name())),
                     how);
    return std::nullopt;
  }
  Reader reader(xml, complaints);
  reader.system(root);
  Topology topology = reader.take();
  if (topology.gpus.empty() && complaints.ok()) {
    complaints.error(
        topology.place,
        topology.unclassed > 0
            ? fmt::format("the dump names no GPU: {} PCI devices have neither class nor device; NCCL fills these in "
                          "from the running machine",
                          topology.unclassed)
            : "the dump names no GPU",
        "use what NCCL writes on that machine with NCCL_TOPO_DUMP_FILE=topology.xml, or write the system file by hand "
        "(configs/README.md)");
  }
  if (!complaints.ok()) return std::nullopt;
  return topology;
}

}  // namespace moire::importing
