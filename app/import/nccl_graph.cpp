#include "app/import/nccl_graph.hpp"

#include <fmt/format.h>

#include <array>

#include "app/import/system_file.hpp"
#include "sim/formats/number.hpp"
#include "sim/formats/xml.hpp"

namespace moire::importing {

namespace {

const std::string how = "use the file that NCCL writes with NCCL_GRAPH_DUMP_FILE=graph.xml";

using formats::Complaints;
using formats::XmlText;

class GraphReader {
 public:
  GraphReader(const XmlText& xml, Complaints& complaints) : xml_(xml), complaints_(complaints) {}

  Graph graph(const pugi::xml_node& element) {
    Graph graph;
    graph.place = complaints_.place(xml_.position(element));
    graph.id = number(element, "id", 0, 63);
    graph.channels = number(element, "nchannels", 0, 1024);
    graph.speed_intra = speed(element);
    graph.type_intra = printable(element.attribute("typeintra").value());
    std::int64_t channels = 0;
    for (const pugi::xml_node& channel : element.children("channel")) {
      ++channels;
      std::size_t gpus = 0;
      for ([[maybe_unused]] const pugi::xml_node& gpu : channel.children("gpu")) ++gpus;
      if (channels > 1 && gpus != graph.gpus) {
        complaints_.error(xml_.position(channel),
                          fmt::format("a channel has {} GPUs, but a previous one has {}", gpus, graph.gpus),
                          "all channels must pass all GPUs");
      }
      graph.gpus = gpus;
    }
    if (channels != graph.channels) {
      complaints_.error(xml_.position(element, "nchannels"),
                        fmt::format("nchannels is {}, but there are {} channels", graph.channels, channels),
                        "use the file as NCCL wrote it");
    }
    return graph;
  }

 private:
  std::int64_t number(const pugi::xml_node& element, const char* name, std::int64_t low, std::int64_t high) {
    const char* text = element.attribute(name).value();
    if (const auto value = formats::any_base_number_in<std::int64_t>(text); value && *value >= low && *value <= high)
      return *value;
    complaints_.error(xml_.position(element, name),
                      fmt::format("{} of <{}> is {}", name, element.name(), config::in_quotes(text)),
                      fmt::format("write an integer from {} to {}", low, high));
    return low;
  }

  double speed(const pugi::xml_node& element) {
    const std::string_view text = element.attribute("speedintra").value();
    double value = 0;
    if (formats::parse_number(text, value, 0, 1e6) == formats::Digits::good) return value;
    complaints_.error(xml_.position(element, "speedintra"),
                      fmt::format("speedintra of <graph> is {}", config::in_quotes(text)),
                      "write the GB/s of a channel");
    return 0;
  }

  const XmlText& xml_;
  Complaints& complaints_;
};

}  // namespace

std::string Graph::name() const {
  constexpr std::array<const char*, 5> names = {"ring", "tree", "collnet chain", "NVLS", "collnet direct"};
  return id < static_cast<std::int64_t>(names.size()) ? names[static_cast<std::size_t>(id)]
                                                      : fmt::format("graph {}", id);
}

std::optional<std::vector<Graph>> read_nccl_graphs(const std::string& name, const std::string& text,
                                                   config::Diagnostics& diagnostics) {
  Complaints complaints(name, diagnostics);
  const XmlText xml(name, text, complaints, how);
  if (!xml.ok()) return std::nullopt;
  const pugi::xml_node root = xml.root();
  if (root.name() != std::string_view("graphs")) {
    complaints.error(xml.position(root), fmt::format("the root element is <{}>, not <graphs>", printable(root.name())),
                     root.name() == std::string_view("system")
                         ? "this is a topology dump: pass it as FILE, and pass to --graph what NCCL writes with "
                           "NCCL_GRAPH_DUMP_FILE=graph.xml"
                         : how);
    return std::nullopt;
  }
  GraphReader reader(xml, complaints);
  std::vector<Graph> graphs;
  for (const pugi::xml_node& child : root.children("graph")) {
    if (graphs.size() == 64) {
      complaints.error(xml.position(child), "there are more than 64 graphs", "use the dump of one communicator");
      break;
    }
    graphs.push_back(reader.graph(child));
  }
  if (!complaints.ok()) return std::nullopt;
  return graphs;
}

}  // namespace moire::importing
