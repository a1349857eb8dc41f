#include "app/import/nccl_graph.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "app/import/number.hpp"
#include "app/import/xml_text.hpp"

namespace moire::importing {

namespace {

class GraphReader {
 public:
  GraphReader(const XmlText& xml, config::Diagnostics& diagnostics) : xml_(xml), diagnostics_(diagnostics) {}

  Graph graph(const pugi::xml_node& element) {
    Graph graph;
    graph.place = xml_.place(element);
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
        diagnostics_.error(xml_.place(channel), fmt::format("a channel of {} GPUs behind one of {}", gpus, graph.gpus),
                           "all channels pass all GPUs");
      }
      graph.gpus = gpus;
    }
    if (channels != graph.channels) {
      diagnostics_.error(xml_.place(element, "nchannels"),
                         fmt::format("nchannels is {}, but there are {} channels", graph.channels, channels),
                         "give the file as NCCL wrote it");
    }
    return graph;
  }

 private:
  std::int64_t number(const pugi::xml_node& element, const char* name, std::int64_t low, std::int64_t high) {
    const char* text = element.attribute(name).value();
    if (const auto value = parse_number(text); value && *value >= low && *value <= high) return *value;
    diagnostics_.error(xml_.place(element, name),
                       fmt::format("{} of <{}> is {}", name, element.name(), config::in_quotes(text)),
                       fmt::format("a whole number from {} to {}", low, high));
    return low;
  }

  double speed(const pugi::xml_node& element) {
    const std::string_view text = element.attribute("speedintra").value();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 1e6) return value;
    diagnostics_.error(xml_.place(element, "speedintra"),
                       fmt::format("speedintra of <graph> is {}", config::in_quotes(text)), "GB/s of a channel");
    return 0;
  }

  const XmlText& xml_;
  config::Diagnostics& diagnostics_;
};

}  // namespace

std::string Graph::name() const {
  constexpr std::array<const char*, 5> names = {"ring", "tree", "collnet chain", "NVLS", "collnet direct"};
  return id < static_cast<std::int64_t>(names.size()) ? names[static_cast<std::size_t>(id)]
                                                      : fmt::format("graph {}", id);
}

std::optional<std::vector<Graph>> read_nccl_graphs(const std::string& name, const std::string& text,
                                                   config::Diagnostics& diagnostics) {
  const auto xml = XmlText::read(name, text, diagnostics);
  if (!xml) return std::nullopt;
  const pugi::xml_node root = xml->root();
  if (root.name() != std::string_view("graphs")) {
    diagnostics.error(xml->place(root), fmt::format("the root element is <{}>, not <graphs>", printable(root.name())),
                      root.name() == std::string_view("system")
                          ? "this is a topology dump: give it as FILE, and by --graph what NCCL writes with "
                            "NCCL_GRAPH_DUMP_FILE=graph.xml"
                          : "give what NCCL writes with NCCL_GRAPH_DUMP_FILE=graph.xml");
    return std::nullopt;
  }
  config::Diagnostics found;
  GraphReader reader(*xml, found);
  std::vector<Graph> graphs;
  for (const pugi::xml_node& child : root.children("graph")) {
    if (graphs.size() == 64) {
      found.error(xml->place(child), "more than 64 graphs", "give the dump of one communicator");
      break;
    }
    graphs.push_back(reader.graph(child));
  }
  for (const config::Diagnostic& error : found.sorted()) diagnostics.error(error.place, error.what, error.remedy);
  if (!found.ok()) return std::nullopt;
  return graphs;
}

}  // namespace moire::importing
