// Over 400 lines: one walk over a dump determines every key of the system file.
#include "app/import/nccl_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/import/known_devices.hpp"
#include "app/import/nccl_graph.hpp"
#include "app/import/nccl_topology.hpp"
#include "app/import/system_file.hpp"
#include "app/import/wires.hpp"
#include "app/study/prepare.hpp"
#include "models/workload/libraries/software.hpp"
#include "sim/config/load.hpp"
#include "sim/config/spec.hpp"
#include "sim/config/suggest.hpp"
#include "sim/formats/file.hpp"

namespace moire::importing {

namespace fs = std::filesystem;

namespace {

using link::Wiring;

std::string_view to_string(Wiring wiring) {
  switch (wiring) {
    case Wiring::none:
      return "none";
    case Wiring::nvswitch:
      return "nvswitch";
    case Wiring::full_mesh:
      return "full_mesh";
    case Wiring::pcie:
      return "pcie";
  }
  return "";
}

std::string_view to_string(LinkKind kind) { return kind == LinkKind::xgmi ? "xGMI link" : "NVLink"; }

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string span(std::int64_t fewest, std::int64_t most) {
  return fewest == most ? fmt::format("{}", fewest) : fmt::format("{} to {}", fewest, most);
}

std::string percent(double value, double reference) { return fmt::format("{:+.0f} %", (value / reference - 1) * 100); }

double gigabits(std::int64_t megabits) { return static_cast<double>(megabits) / 1000; }

class Import {
 public:
  Import(const std::string& file, const Topology& topology, const NcclTopoOptions& options,
         config::Diagnostics& diagnostics)
      : file_(printable(fs::path(file).filename().string())),
        topology_(topology),
        options_(options),
        diagnostics_(diagnostics),
        wires_(wires_of(topology)),
        known_(known_gpu(topology.gpus.front())) {}

  std::optional<Imported> run() {
    say_what_it_is();
    choose_gpu();
    choose_wiring();
    choose_nics();
    if (!options_.graph.empty()) compare_graph();
    if (!diagnostics_.ok()) return std::nullopt;
    compare_gpu();
    choose_links_of_pairs();
    compare_links();
    system_.facts.insert(system_.facts.end(), nic_facts_.begin(), nic_facts_.end());
    system_.facts.insert(system_.facts.end(), graph_facts_.begin(), graph_facts_.end());
    choose_library();
    say_what_is_left_out();
    system_.description = description();
    Imported imported{to_yaml(system_, options_.out_folder), system_.notes};
    if (!accepted(imported.yaml)) return std::nullopt;
    return imported;
  }

 private:
  void fact(std::string text) { system_.facts.push_back(std::move(text)); }
  void note(std::string text) { system_.notes.push_back(std::move(text)); }
  const TopologyGpu& first() const { return topology_.gpus.front(); }
  std::size_t gpus() const { return topology_.gpus.size(); }
  const config::Place& gpu_place() const { return first().pci.place; }

  void say_what_it_is() {
    system_.title = fmt::format("Converted by 'moire import nccl-topo' from {}, a topology dump of {} (version {}).",
                                file_, topology_.version == 2 ? "RCCL" : "NCCL", topology_.version);
    system_.gpus = static_cast<std::int64_t>(gpus());
    if (!topology_.described()) {
      note(
          "the file only contains PCI devices: NCCL adds GPUs, links and NICs from the running machine. The links and "
          "NICs here are those that such devices usually have, or come from the options");
    }
  }

  template <class Spec>
  std::optional<Spec> load(const fs::path& path, std::string_view option, const config::Place& place) {
    if (path.extension() != ".yaml") {
      diagnostics_.error(place, fmt::format("{} is not a hardware file", config::in_quotes(path.string())),
                         fmt::format("name a file that ends in .yaml with {}", option));
      return std::nullopt;
    }
    std::error_code error;
    if (!fs::exists(path, error)) {
      diagnostics_.error(
          place, fmt::format("no such file {}", config::in_quotes(path.string())),
          fmt::format(
              "name the hardware file with {} FILE, or name the folder that contains hardware/ with --configs DIR",
              option));
      return std::nullopt;
    }
    const auto tree = config::load(path, {}, diagnostics_);
    return tree ? config::parse<Spec>(*tree, diagnostics_) : std::nullopt;
  }

  fs::path preset(std::string_view file) const { return options_.configs / "hardware" / file; }

  void choose_gpu() {
    std::set<std::string> kinds;
    for (const TopologyGpu& gpu : topology_.gpus) kinds.insert(what_is_said(gpu));
    if (kinds.size() > 1) {
      const std::string both = config::join({kinds.begin(), kinds.end()}, "; ");
      if (options_.gpu.empty()) {
        diagnostics_.error(gpu_place(), fmt::format("the GPUs are not equal: {}", both),
                           "all GPUs of a node must be of one kind; --gpu FILE uses one hardware file for all");
        return;
      }
      note(fmt::format("the GPUs are not equal: {}", both));
    }
    if (!options_.gpu.empty()) {
      system_.gpu = options_.gpu;
    } else if (known_ && !known_->file.empty()) {
      system_.gpu = preset(known_->file);
    } else {
      diagnostics_.error(
          gpu_place(),
          known_ ? fmt::format("there is no hardware file for the {} ({})", known_->name, what_is_said(first()))
                 : fmt::format("unknown GPU: {}", what_is_said(first())),
          "name a hardware file with --gpu FILE; CONTRIBUTING.md explains how to write one");
      return;
    }
    gpu_ = load<machine::GpuSpec>(system_.gpu, "--gpu", gpu_place());
  }

  std::string gpu_name() const {
    return known_ ? std::string(known_->name) : options_.gpu.empty() ? what_is_said(first()) : gpu_->name;
  }
  std::string gpu_file() const { return printable(system_.gpu.filename().string()); }

  void compare_gpu() {
    fact(fmt::format("{} x {} ({})", system_.gpus, known_ ? known_->name : "GPU", what_is_said(first())));
    for (std::size_t g = 0; g < gpus(); ++g) {
      const TopologyGpu& gpu = topology_.gpus[g];
      std::string line = fmt::format("GPU {}: {}, CPU {}", g, printable(gpu.pci.bus_id), gpu.pci.cpu);
      std::vector<std::string> near;
      for (const std::size_t n : nearest_nics(gpu, nics_)) near.push_back(printable(nics_[n].name));
      if (!near.empty() && near.size() < nics_.size()) line += ", nearest NIC " + config::join(near);
      fact(line);
    }
    if (!options_.gpu.empty()) {
      if (!known_ || known_->file != gpu_file()) {
        note(fmt::format("the GPU is {} ({}), as set by --gpu", gpu_file(), printable(gpu_->name)));
      }
    } else if (!known_->remark.empty()) {
      note(fmt::format("the GPU is {}: {}", gpu_file(), known_->remark));
    }
    if (is_amd(first()) && first().sm > 0) {
      std::int64_t cus = 0;
      for (const auto& group : gpu_->compute.groups) cus += group.cus * group.count;
      if (cus != first().sm) note(fmt::format("the dump states {} CUs, {} has {}", first().sm, gpu_file(), cus));
    }
  }

  // Chooses nvswitch, full_mesh, pcie or none, and notes why.
  void choose_wiring() {
    if (options_.wiring) {
      wiring_ = *options_.wiring;
      if (gpus() > 1) note(fmt::format("the wiring is {}, as set by --wiring", to_string(wiring_)));
    } else if (gpus() == 1) {
      wiring_ = Wiring::none;
    } else if (!topology_.described()) {
      usual();
    } else {
      from_links();
    }
    system_.wiring = to_string(wiring_);
  }

  void usual() {
    const auto wiring = known_ ? usual_wiring(*known_, gpus()) : std::nullopt;
    if (!wiring) {
      diagnostics_.error(gpu_place(), "the file does not state how the GPUs are connected",
                         "set it with --wiring nvswitch, full_mesh (links between every two GPUs) or pcie, or use what "
                         "NCCL writes on that machine with NCCL_TOPO_DUMP_FILE=topology.xml");
      return;
    }
    wiring_ = *wiring;
    note(*wiring == Wiring::pcie
             ? fmt::format("the wiring is pcie, as usual for cards; bridges that connect pairs of {} are not visible "
                           "in the dump",
                           known_->name)
             : fmt::format("the wiring is {}, as usual for {} {}", to_string(*wiring), gpus(), known_->name));
  }

  void from_links() {
    switch (wires_.shape) {
      case Shape::to_switch:
        wiring_ = Wiring::nvswitch;
        return;
      case Shape::mesh:
        wiring_ = Wiring::full_mesh;
        return;
      case Shape::uneven:
        wiring_ = Wiring::full_mesh;
        note(fmt::format("there are {} to {} links between two GPUs: a full mesh with equal shares is used instead",
                         wires_.fewest(), wires_.most()));
        return;
      case Shape::partial:
        wiring_ = Wiring::nvswitch;
        note(
            fmt::format("only {} of {} pairs of GPUs have links ({} per GPU). A partial mesh is not modelled; a switch "
                        "is used instead. The rate from a GPU to all its neighbours at once is then right, but the "
                        "rate of a single pair is too high. It is far too high for pairs without a link, which "
                        "communicate over PCIe or through other GPUs. --wiring chooses another wiring",
                        wires_.linked_pairs(), gpus() * (gpus() - 1) / 2,
                        span(*std::min_element(wires_.links.begin(), wires_.links.end()),
                             *std::max_element(wires_.links.begin(), wires_.links.end()))));
        return;
      case Shape::mixed:
        diagnostics_.error(gpu_place(), "some GPUs have links to a switch and some have none",
                           "a node must have one kind of wiring; --wiring uses one for all");
        return;
      case Shape::none:
        break;
    }
    if (options_.gpu.empty() && !system_.gpu.empty() && known_ && known_->form == GpuForm::module &&
        !known_->file.empty()) {
      diagnostics_.error(gpu_place(),
                         fmt::format("the dump has no link between GPUs, but the port of {} is not PCIe", known_->file),
                         "name a hardware file whose port is the PCIe slot with --gpu FILE, or set with --wiring how "
                         "the GPUs are connected");
      return;
    }
    wiring_ = Wiring::pcie;
  }

  std::int64_t peers() const { return static_cast<std::int64_t>(gpus()) - 1; }

  // Chooses the number of links of a pair of GPUs in a full mesh: the links of the GPU's port divided by the number of
  // peers. If the dump shows a mesh with fewer links per pair, chooses that number.
  void choose_links_of_pairs() {
    if (wiring_ != Wiring::full_mesh || gpus() < 2) return;
    system_.links_per_pair = std::max<std::int64_t>(1, gpu_->port.links / peers());
    if (wires_.shape == Shape::mesh && wires_.fewest() < system_.links_per_pair)
      system_.links_per_pair = wires_.fewest();
  }

  void compare_links() {
    if (wires_.to_itself > 0) {
      note(
          fmt::format("{} end at the GPU where they begin, as virtual machines report them; they do not count as links",
                      counted(wires_.to_itself, to_string(wires_.kind))));
    }
    if (wires_.astray > 0) {
      note(fmt::format("{} end at devices that the dump does not contain; they are left out",
                       counted(wires_.astray, "link")));
    }
    if (wires_.to_cpu > 0) note("links from GPUs to host processors are not modelled");
    if (wires_.one_sided) note("some links are reported at one end only");
    if (wiring_ == Wiring::pcie) {
      compare_slot();
      return;
    }
    if (wires_.shape == Shape::none || wires_.shape == Shape::mixed) return;
    const bool mesh = wires_.shape == Shape::mesh && wiring_ == Wiring::full_mesh;
    const std::int64_t fewest = mesh ? wires_.fewest() : *std::min_element(wires_.links.begin(), wires_.links.end());
    const std::int64_t most = mesh ? wires_.most() : *std::max_element(wires_.links.begin(), wires_.links.end());
    const std::int64_t ours = mesh ? system_.links_per_pair : gpu_->port.links;
    const std::string_view where = mesh ? "between every two GPUs" : "a GPU";
    std::string line =
        fmt::format("{} {}{} {}", span(fewest, most), to_string(wires_.kind), most == 1 ? "" : "s", where);
    if (wires_.shape == Shape::to_switch) {
      line += wires_.switches == 1 ? " to a switch" : fmt::format(" to {} switches", wires_.switches);
    }
    const double rate = library_link_rate(first(), wires_.kind);
    const double of_file = static_cast<double>(ours) * gpu_->port.link_bandwidth.value * gpu_->port.payload_efficiency;
    if (rate > 0 && ours > 0) {
      const double of_dump = static_cast<double>(most) * rate * 1e9;
      line += fmt::format(", {:.1f} GB/s by {}'s estimate; by {}, stores have {:.1f} GB/s over {} links ({})",
                          of_dump / 1e9, wires_.kind == LinkKind::xgmi ? "RCCL" : "NCCL", gpu_file(), of_file / 1e9,
                          ours, percent(of_file, of_dump));
    }
    fact(line);
    if (fewest != ours || most != ours) {
      note(fmt::format(
          "the dump states {} links {}, {} has {}; to use the dump's number: --set system.node.gpu.port.links={}",
          span(fewest, most), where, gpu_file(), ours, mesh ? fewest * peers() : most));
    }
  }

  void compare_slot() {
    const double slot = first().pci.raw_bandwidth();
    if (slot == 0) {
      fact("there is no link between GPUs; the speed of their PCIe slots is not stated");
      return;
    }
    const double port = static_cast<double>(gpu_->port.links) * gpu_->port.link_bandwidth.value;
    fact(fmt::format("there is no link between GPUs; PCIe slots of {:g} GT/s x {}: {:.1f} GB/s; {}: {:.1f} GB/s",
                     first().pci.transfers, first().pci.width, slot / 1e9, gpu_file(), port / 1e9));
    if (port > slot * 1.01 || port <= slot / 2) {
      note(fmt::format("the GPU's PCIe slot moves {:.1f} GB/s, but the port of {} moves {:.1f} GB/s ({})", slot / 1e9,
                       gpu_file(), port / 1e9, percent(port, slot)));
    }
  }

  void choose_nics() {
    std::vector<std::string> sockets;
    std::vector<TopologyNic> rdma;
    for (const TopologyNic& nic : topology_.nics) {
      if (nic.rdma) {
        rdma.push_back(nic);
      } else {
        sockets.push_back(fmt::format("{} ({:g} Gb/s)", printable(nic.name), gigabits(nic.megabits)));
      }
    }
    if (!sockets.empty()) {
      note(fmt::format("left out (no RDMA; sockets are not modelled): {}", config::join(sockets)));
    }
    if (options_.nic == "none") {
      const std::size_t left = rdma.size() + (topology_.described() ? 0 : topology_.network_cards.size());
      if (left > 0)
        note(fmt::format("{} left out, as set by --nic none", counted(static_cast<std::int64_t>(left), "NIC")));
    } else if (!rdma.empty()) {
      take_nics(std::move(rdma));
    } else if (!topology_.described() && !topology_.network_cards.empty()) {
      take_cards();
    } else if (!options_.nic.empty()) {
      diagnostics_.error(topology_.place, "--nic names a NIC, but the dump has no RDMA NIC",
                         "remove --nic, and add nics and nic to the result by hand");
    }
    if (topology_.described() && !topology_.network_cards.empty()) {
      note(fmt::format("left out: {} that NCCL does not use",
                       counted(static_cast<std::int64_t>(topology_.network_cards.size()), "network card")));
    }
  }

  void take_nics(std::vector<TopologyNic> rdma) {
    const std::int64_t fastest = std::max_element(rdma.begin(), rdma.end(), [](const auto& a, const auto& b) {
                                   return a.megabits < b.megabits;
                                 })->megabits;
    std::vector<std::string> slower;
    for (const TopologyNic& nic : rdma) {
      if (nic.megabits < fastest) {
        slower.push_back(fmt::format("{} ({:g} Gb/s)", printable(nic.name), gigabits(nic.megabits)));
      } else {
        nics_.push_back(nic);
      }
    }
    if (!slower.empty()) note(fmt::format("left out, because all NICs must be equal: {}", config::join(slower)));
    const TopologyNic& nic = nics_.front();
    const KnownNic known = known_nic(fastest, nic.name, nic.pci ? &*nic.pci : nullptr);
    name_nic(known, nic.place,
             fmt::format("{} of {:g} Gb/s ({})", config::in_quotes(printable(nic.name)), gigabits(fastest),
                         nic.pci ? what_is_said(*nic.pci) : "no PCI device"));
    if (!nic_) return;
    nic_facts_.push_back(
        fmt::format("{} of {:g} Gb/s", counted(static_cast<std::int64_t>(nics_.size()), "NIC"), gigabits(fastest)));
    const double of_file = nic_->bandwidth.value * 8 / 1e9;
    if (std::abs(of_file / gigabits(fastest) - 1) > 0.01) {
      note(
          fmt::format("the dump states {:g} Gb/s per NIC, {} has {:g}; to use the dump's value: --set "
                      "system.node.nic.bandwidth='{:g} Gb/s'",
                      gigabits(fastest), nic_file(), of_file, gigabits(fastest)));
    }
    if (nic.pci) compare_nic_slot(*nic.pci);
    if (std::any_of(nics_.begin(), nics_.end(), [](const TopologyNic& n) { return !n.gpu_direct; })) {
      note("NICs that cannot reach GPU memory (gdr 0) copy through the host; the model lets them reach it");
    }
    if (std::any_of(nics_.begin(), nics_.end(), [](const TopologyNic& n) { return n.in_network_reduction; })) {
      note("reductions in the network (coll 1) are not modelled");
    }
    if (!nics_are_near(topology_, nics_)) {
      note("GPU g uses NIC g x nics / gpus, which need not be the NIC that is nearest in the dump (listed above)");
    }
    limit_nics(nics_.size());
  }

  void limit_nics(std::size_t count) {
    if (count > gpus()) {
      note(fmt::format("there are {} NICs for {} GPUs, but at most one NIC per GPU is modelled", count, gpus()));
      count = gpus();
    }
    system_.nics = static_cast<std::int64_t>(count);
  }

  void take_cards() {
    std::vector<PciDevice> cards;
    for (const std::uint32_t kind : {0x0207U, 0x0200U}) {
      if (!cards.empty()) break;
      for (const PciDevice& card : topology_.network_cards) {
        if (card.pci_class >> 8 == kind) cards.push_back(card);
      }
    }
    if (cards.empty()) cards = topology_.network_cards;
    if (cards.size() < topology_.network_cards.size()) {
      note(fmt::format(
          "left out: {} that are not InfiniBand",
          counted(static_cast<std::int64_t>(topology_.network_cards.size() - cards.size()), "network card")));
    }
    name_nic(known_card(cards.front()), cards.front().place, what_is_said(cards.front()));
    if (!nic_) return;
    nic_facts_.push_back(fmt::format("{} ({})", counted(static_cast<std::int64_t>(cards.size()), "network card"),
                                     what_is_said(cards.front())));
    compare_nic_slot(cards.front());
    for (const PciDevice& card : cards) {
      TopologyNic nic;
      nic.name = card.bus_id;
      nic.pci = card;
      nics_.push_back(std::move(nic));
    }
    if (!nics_are_near(topology_, nics_)) {
      note("GPU g uses NIC g x nics / gpus, which need not be the NIC that is nearest in the file (listed above)");
    }
    limit_nics(cards.size());
  }

  void name_nic(const KnownNic& known, const config::Place& place, const std::string& what) {
    if (options_.nic.empty() && known.file.empty()) {
      diagnostics_.error(place, fmt::format("there is no hardware file for the NIC: {}", what),
                         "name one with --nic FILE, or leave NICs out with --nic none");
      return;
    }
    system_.nic = options_.nic.empty() ? preset(known.file) : fs::path(options_.nic);
    nic_ = load<nic::NicSpec>(system_.nic, "--nic", place);
    if (!options_.nic.empty()) {
      if (known.file != nic_file()) note(fmt::format("the NIC is {}, as set by --nic", nic_file()));
    } else if (!known.remark.empty()) {
      note(fmt::format("the NIC is {}: {}", nic_file(), known.remark));
    }
  }
  std::string nic_file() const { return printable(system_.nic.filename().string()); }

  void compare_nic_slot(const PciDevice& pci) {
    const double slot = pci.raw_bandwidth();
    if (slot == 0) return;
    const double ours = nic_->pcie_bandwidth.value;
    nic_facts_.push_back(fmt::format("PCIe slots of NICs: {:g} GT/s x {}, {:.1f} GB/s; {}: {:.1f} GB/s of payload",
                                     pci.transfers, pci.width, slot / 1e9, nic_file(), ours / 1e9));
    if (ours > slot || ours <= slot / 2) {
      note(fmt::format("the NIC's PCIe slot moves {:.1f} GB/s, but {} states {:.1f} GB/s of payload", slot / 1e9,
                       nic_file(), ours / 1e9));
    }
  }

  void compare_graph() {
    const auto text = formats::read_file({.file = options_.graph}, most_dump_bytes, diagnostics_);
    if (!text) return;
    const auto graphs = read_nccl_graphs(options_.graph, *text, diagnostics_);
    if (!graphs) return;
    const std::string name = printable(fs::path(options_.graph).filename().string());
    for (const Graph& graph : *graphs) {
      if (graph.channels == 0) continue;
      if (graph.gpus != gpus()) {
        diagnostics_.error(graph.place,
                           fmt::format("the channels have {} GPUs, but the dump has {}", graph.gpus, gpus()),
                           "use the graph dump of the same machine");
        return;
      }
      graph_facts_.push_back(fmt::format("{}: {}: {} of {:g} GB/s, worst path {}", name, graph.name(),
                                         counted(graph.channels, "channel"), graph.speed_intra, graph.type_intra));
      if (graph.id != 0 || gpus() == 1) continue;
      const bool linked = wires_.shape != Shape::none;
      if (topology_.described() && linked != graph.type_intra.starts_with("NV") && !is_amd(first())) {
        note(fmt::format("{}: NCCL's rings use {} paths, but the dump {} links between GPUs", name, graph.type_intra,
                         linked ? "has" : "has no"));
      }
    }
  }

  void choose_library() {
    const std::string_view file = !is_amd(first())                               ? "nccl.yaml"
                                  : known_ && known_->name.starts_with("MI300X") ? "rccl_mi300x.yaml"
                                                                                 : "rccl.yaml";
    const fs::path path = options_.configs / "libraries" / file;
    std::error_code error;
    if (fs::exists(path, error)) {
      system_.library = path;
    } else {
      note(fmt::format("no library is set: {} does not exist; operators must name theirs", printable(path.string())));
    }
  }

  void say_what_is_left_out() {
    std::vector<std::string> parts;
    if (topology_.bridges > 0) parts.push_back(counted(static_cast<std::int64_t>(topology_.bridges), "PCIe bridge"));
    if (topology_.cpus > 1) parts.push_back(counted(static_cast<std::int64_t>(topology_.cpus), "CPU"));
    if (!parts.empty()) {
      note(
          fmt::format("not modelled: {}. Every GPU and NIC has a PCIe slot of its own, and traffic between CPUs is not "
                      "slower",
                      config::join(parts)));
    }
    if (topology_.hosts > 1) {
      note(fmt::format("the GPUs of {} hosts form one node here", topology_.hosts));
    }
    if (topology_.uneven_gpus) note("PCI devices of GPU class without a <gpu> are left out, as in NCCL");
    if (!topology_.unknown.empty()) note(fmt::format("ignored elements: {}", config::join(topology_.unknown)));
    if (system_.nics > 0)
      note("the dump describes one node: for more nodes, add fabric (moire explain fabric) and set nodes");
  }

  std::string description() const {
    const std::string_view how = wiring_ == Wiring::nvswitch    ? " behind a switch"
                                 : wiring_ == Wiring::full_mesh ? " in a full mesh"
                                 : wiring_ == Wiring::pcie      ? " on PCIe"
                                                                : "";
    const std::string nics =
        system_.nics == 0 ? "no NIC" : fmt::format("{} ({})", counted(system_.nics, "NIC"), nic_file());
    return fmt::format(
        "{} {}{}, {}; imported from the topology dump {}. The comments at the top of this file state what it leaves "
        "out.",
        gpus(), printable(gpu_name()), wires_.shape == Shape::partial ? " in a partial mesh" : how, nics, file_);
  }

  bool accepted(const std::string& yaml) {
    config::Diagnostics wrong;
    const std::string name = (options_.out_folder / "imported.yaml").string();
    const auto tree = config::load_text(name, yaml, {}, wrong);
    const auto spec = tree ? libraries::read_system(*tree, wrong) : std::nullopt;
    if (spec) study::check_system(*spec, *tree, wrong);
    for (const config::Diagnostic& error : wrong.sorted()) {
      diagnostics_.error(topology_.place, "it cannot be converted into a system: " + error.what, error.remedy);
    }
    return wrong.ok();
  }

  std::string file_;
  const Topology& topology_;
  const NcclTopoOptions& options_;
  config::Diagnostics& diagnostics_;
  Wires wires_;
  const KnownGpu* known_;
  SystemFile system_;
  Wiring wiring_ = Wiring::none;
  std::optional<machine::GpuSpec> gpu_;
  std::optional<nic::NicSpec> nic_;
  std::vector<TopologyNic> nics_;  // the NICs that the system uses
  std::vector<std::string> nic_facts_;
  std::vector<std::string> graph_facts_;
};

}  // namespace

std::optional<Imported> import_nccl_topo_text(const std::string& file, const std::string& text,
                                              const NcclTopoOptions& options, config::Diagnostics& diagnostics) {
  const auto topology = read_nccl_topology(file, text, diagnostics);
  if (!topology) return std::nullopt;
  return Import(file, *topology, options, diagnostics).run();
}

std::optional<Imported> import_nccl_topo(const std::string& file, const NcclTopoOptions& options,
                                         config::Diagnostics& diagnostics) {
  const auto text = formats::read_file({.file = file}, most_dump_bytes, diagnostics);
  if (!text) return std::nullopt;
  return import_nccl_topo_text(file, *text, options, diagnostics);
}

}  // namespace moire::importing
