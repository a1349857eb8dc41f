#include "models/algorithms/msccl/xml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "models/algorithms/msccl/rules.hpp"
#include "sim/formats/file.hpp"
#include "sim/formats/xml_attributes.hpp"

namespace moire::msccl {

namespace {

using formats::KnownAttribute;
using formats::XmlAttributes;
using formats::XmlText;

constexpr std::int32_t any = std::numeric_limits<std::int32_t>::max();

namespace algo {
enum : std::size_t { name, proto, nchannels, nchunksperloop, ngpus, coll, inplace, outofplace, min_bytes, max_bytes };
constexpr std::array<KnownAttribute, 10> known = {{{"name", false},
                                                   {"proto"},
                                                   {"nchannels"},
                                                   {"nchunksperloop"},
                                                   {"ngpus"},
                                                   {"coll"},
                                                   {"inplace"},
                                                   {"outofplace", false},
                                                   {"minBytes", false},
                                                   {"maxBytes", false}}};
}  // namespace algo
namespace gpu {
enum : std::size_t { id, i_chunks, o_chunks, s_chunks };
constexpr std::array<KnownAttribute, 4> known = {{{"id"}, {"i_chunks"}, {"o_chunks"}, {"s_chunks"}}};
}  // namespace gpu
namespace tb {
enum : std::size_t { id, send, recv, chan };
constexpr std::array<KnownAttribute, 4> known = {{{"id"}, {"send"}, {"recv"}, {"chan"}}};
}  // namespace tb
namespace step {
enum : std::size_t { s, type, srcbuf, srcoff, dstbuf, dstoff, cnt, depid, deps, hasdep, coding };
constexpr std::array<KnownAttribute, 11> known = {{{"s"},
                                                   {"type"},
                                                   {"srcbuf"},
                                                   {"srcoff"},
                                                   {"dstbuf"},
                                                   {"dstoff"},
                                                   {"cnt"},
                                                   {"depid"},
                                                   {"deps"},
                                                   {"hasdep"},
                                                   {"coding", false}}};
}  // namespace step

template <class Element>
void stands_at(Element& element, Spot at) {
  element.line = at.line;
  element.col = static_cast<decltype(element.col)>(
      std::min<std::uint32_t>(at.col, std::numeric_limits<decltype(element.col)>::max()));
}

class Reader {
 public:
  Reader(const XmlText& xml, std::string file, Complaints& complaints) : xml_(xml), complaints_(complaints) {
    out_.file = std::move(file);
  }

  std::optional<Algorithm> read() {
    const pugi::xml_node root = xml_.root();
    if (!is_algorithm(root)) return std::nullopt;
    read_header(root);
    std::vector<bool> seen(out_.gpus.size());
    for (const pugi::xml_node child : root.children()) {
      if (is_element(child, "gpu")) read_gpu(child, seen);
    }
    if (counted_) tell_missing(seen);
    if (complaints_.errors() > 0) return std::nullopt;
    check_memory(out_, complaints_);
    check_connections(out_, complaints_);
    if (complaints_.errors() > 0) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool is_algorithm(const pugi::xml_node& root) {
    const std::string_view name = root.name();
    if (name == "algo") return true;
    if (name == "system") {
      complaints_.error(xml_.position(root), "this is an NCCL topology: its root element is <system>, not <algo>",
                        "'moire import nccl-topo' converts it into a system");
    } else {
      complaints_.error(xml_.position(root), "the root element is " + config::in_quotes(name) + ", not algo",
                        "MSCCL XML consists of <algo>, <gpu>, <tb> and <step/>");
    }
    return false;
  }

  // True if the node is an element with this name. The reader skips all other nodes; those with content cause a
  // warning.
  bool is_element(const pugi::xml_node& node, std::string_view name) {
    if (node.type() != pugi::node_element) {
      if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata)
        complaints_.warning("text", xml_.position(node.parent()),
                            "text inside " + std::string(node.parent().name()) + " is ignored", {});
      return false;
    }
    if (node.name() == name) return true;
    complaints_.warning(
        "element " + std::string(node.name()).substr(0, 60), xml_.position(node),
        config::in_quotes(node.name()) + " in " + node.parent().name() + " is ignored, as the runtime does",
        std::string_view(node.name()) == "copy" ? "write copies as steps of type cpy" : "");
    return false;
  }

  template <std::size_t N, class Name>
  std::int32_t integer(const XmlAttributes<N>& attributes, std::size_t which, const Name& name, bool& good,
                       std::int32_t least, std::int32_t most = any) {
    return attributes.integer(which, xml_, name, complaints_, good, least, most);
  }

  // Returns the value that `find` knows for the word in an attribute. If it knows none, reports an error and sets
  // `good` to false.
  template <std::size_t N, class Name, class Find>
  auto word(const XmlAttributes<N>& attributes, std::size_t which, const Name& name, bool& good, const Find& find,
            const char* right) {
    using Value = typename decltype(find(std::string_view()))::value_type;
    if (!attributes.has(which)) return Value{};
    if (const auto value = find(attributes.text(which))) return *value;
    good = false;
    complaints_.error(
        xml_.position(attributes[which]),
        name() + ": unknown " + attributes[which].name() + " " + config::in_quotes(attributes.text(which)), right);
    return Value{};
  }

  void read_header(const pugi::xml_node& element) {
    const auto name = [] { return std::string("algo"); };
    XmlAttributes attributes(algo::known);
    bool good = attributes.read(element, xml_, name, complaints_);
    stands_at(out_, xml_.position(element));
    out_.name = attributes.has(algo::name) ? attributes.text(algo::name) : "";
    out_.collective = word(attributes, algo::coll, name, good, collective_of,
                           "write allreduce, allgather, alltoall, reducescatter, broadcast, reduce, send, recv, "
                           "gather, scatter, alltoallv, sendrecv or custom");
    out_.protocol = word(attributes, algo::proto, name, good, protocol_of, "write Simple, LL or LL128");
    out_.channels = integer(attributes, algo::nchannels, name, good, -any);
    out_.chunks = integer(attributes, algo::nchunksperloop, name, good, -any);
    const bool before = good;
    const std::int32_t ranks = integer(attributes, algo::ngpus, name, good, 0, most_ranks);
    counted_ = attributes.has(algo::ngpus) && good == before;
    if (counted_) out_.gpus.resize(static_cast<std::size_t>(ranks));
    out_.in_place = integer(attributes, algo::inplace, name, good, 0, 1) == 1;
    out_.out_of_place = integer(attributes, algo::outofplace, name, good, 0, 1) == 1;
    const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    out_.min_bytes = attributes.integer(algo::min_bytes, xml_, name, complaints_, good, std::uint64_t{0}, most);
    out_.max_bytes = attributes.integer(algo::max_bytes, xml_, name, complaints_, good, std::uint64_t{0}, most);
    read_as_older(attributes);
    header_good_ = good;
    if (good) {
      const std::size_t errors = complaints_.errors();
      check_header(out_, complaints_);
      header_good_ = complaints_.errors() == errors;
    }
  }

  // Fills in the values of attributes that files of older compilers do not have, with a warning.
  void read_as_older(const XmlAttributes<algo::known.size()>& attributes) {
    if (!attributes.has(algo::outofplace)) {
      out_.out_of_place = !out_.in_place;
      complaints_.warning(
          "no outofplace", spot(out_),
          fmt::format("outofplace is missing, as in older files; it is taken as {}", out_.out_of_place ? 1 : 0),
          "write it: newer runtimes refuse the file");
    }
    if (!attributes.has(algo::min_bytes) || !attributes.has(algo::max_bytes)) {
      if (!attributes.has(algo::max_bytes)) out_.max_bytes = std::uint64_t{128} << 20;
      complaints_.warning("no window", spot(out_),
                          "minBytes or maxBytes is missing, as in older files; they are taken as 0 and 128 MiB",
                          "write them: newer runtimes refuse the file");
    }
  }

  void tell_missing(const std::vector<bool>& seen) {
    const auto missing = static_cast<std::size_t>(std::count(seen.begin(), seen.end(), false));
    if (missing == 0) return;
    const auto first = std::find(seen.begin(), seen.end(), false) - seen.begin();
    complaints_.error(spot(out_),
                      fmt::format("ngpus is {}, but gpu {} is missing{}", seen.size(), first,
                                  missing > 1 ? fmt::format(" (and {} more)", missing - 1) : ""),
                      fmt::format("write one gpu element for each id from 0 to {}", seen.size() - 1));
  }

  void read_gpu(const pugi::xml_node& element, std::vector<bool>& seen) {
    std::int32_t id = 0;
    const auto name = [&] {
      return element.attribute("id") ? "gpu " + std::string(element.attribute("id").value()).substr(0, 20)
                                     : std::string("a gpu");
    };
    const std::size_t errors = complaints_.errors();
    XmlAttributes attributes(gpu::known);
    bool good = attributes.read(element, xml_, name, complaints_);
    Gpu read;
    stands_at(read, xml_.position(element));
    id = integer(attributes, gpu::id, name, good, 0);
    read.input_chunks = integer(attributes, gpu::i_chunks, name, good, 0);
    read.output_chunks = integer(attributes, gpu::o_chunks, name, good, 0);
    read.scratch_chunks = integer(attributes, gpu::s_chunks, name, good, 0);
    if (!attributes.has(gpu::id) || !counted_) return;
    if (id >= out_.ranks()) {
      if (out_.ranks() > 0) {
        complaints_.error(spot(read), fmt::format("the gpu id is {}, but ngpus is {}", id, out_.ranks()),
                          fmt::format("write 0 to {}", out_.ranks() - 1));
      }
      return;
    }
    if (seen[id]) {
      complaints_.error(spot(read), fmt::format("gpu id {} appears twice: a duplicate", id),
                        "write one element per gpu");
      return;
    }
    seen[id] = true;
    out_.gpus[id] = std::move(read);
    read_blocks(element, id, good && header_good_);
    if (complaints_.errors() == errors && header_good_) check_gpu(out_, id, complaints_);
  }

  void read_blocks(const pugi::xml_node& element, std::int32_t g, bool judge) {
    std::vector<pugi::xml_node> elements;
    for (const pugi::xml_node child : element.children()) {
      if (is_element(child, "tb")) elements.push_back(child);
    }
    std::vector<bool> seen(elements.size());
    out_.gpus[g].blocks.resize(elements.size());
    for (const pugi::xml_node& child : elements) read_block(child, g, seen, judge);
  }

  void read_block(const pugi::xml_node& element, std::int32_t g, std::vector<bool>& seen, bool judge) {
    const auto name = [&] {
      return element.attribute("id") ? name_of(g) + ", tb " + std::string(element.attribute("id").value()).substr(0, 20)
                                     : name_of(g) + ", a tb";
    };
    XmlAttributes attributes(tb::known);
    bool good = attributes.read(element, xml_, name, complaints_);
    const std::int32_t id = integer(attributes, tb::id, name, good, 0);
    ThreadBlock read;
    stands_at(read, xml_.position(element));
    read.send = integer(attributes, tb::send, name, good, -any);
    read.recv = integer(attributes, tb::recv, name, good, -any);
    read.channel = integer(attributes, tb::chan, name, good, -any);
    if (!attributes.has(tb::id)) return;
    const auto blocks = static_cast<std::int32_t>(seen.size());
    if (id >= blocks) {
      complaints_.error(spot(read),
                        fmt::format("{}: the tb id is {}, but this gpu has {} thread blocks: the ids have a gap",
                                    name_of(g), id, blocks),
                        fmt::format("write the ids 0 to {}, each once", blocks - 1));
      return;
    }
    if (seen[id]) {
      complaints_.error(spot(read), fmt::format("{}: tb id {} appears twice: a duplicate", name_of(g), id),
                        fmt::format("write the ids 0 to {}, each once", blocks - 1));
      return;
    }
    seen[id] = true;
    out_.gpus[g].blocks[id] = std::move(read);
    read_steps(element, g, id, judge && good);
    if (judge && good) check_block(out_, g, id, complaints_);
  }

  void read_steps(const pugi::xml_node& element, std::int32_t g, std::int32_t b, bool judge) {
    std::vector<Step>& steps = out_.gpus[g].blocks[b].steps;
    for (const pugi::xml_node child : element.children()) {
      if (!is_element(child, "step")) continue;
      const auto s = static_cast<std::int32_t>(steps.size());
      steps.emplace_back();
      const bool good = read_step(child, g, b, s, steps.back());
      if (judge && good) check_step(out_, g, b, s, complaints_);
    }
    steps.shrink_to_fit();
  }

  bool read_step(const pugi::xml_node& element, std::int32_t g, std::int32_t b, std::int32_t position, Step& out) {
    const auto name = [&] { return name_of(g, b, position); };
    bool good = step_.read(element, xml_, name, complaints_);
    stands_at(out, xml_.position(element));
    const std::int32_t s = integer(step_, step::s, name, good, 0);
    if (step_.has(step::s) && good && s != position) {
      complaints_.error(xml_.position(step_[step::s]),
                        fmt::format("{}: s is {}, but it is at position {}", name(), s, position),
                        "count s from 0: steps run in the order of the file");
      good = false;
    }
    out.type = word(step_, step::type, name, good, step_type_of, "write s, r, rcs, rrc, rrs, rrcs, cpy, re or nop");
    if (step_.has(step::coding)) read_coding(name, good, out);
    out.src_buffer = word(step_, step::srcbuf, name, good, buffer_of, "buffer i, o or s");
    out.dst_buffer = word(step_, step::dstbuf, name, good, buffer_of, "buffer i, o or s");
    out.src_offset = integer(step_, step::srcoff, name, good, -any);
    out.dst_offset = integer(step_, step::dstoff, name, good, -any);
    const std::int32_t count = integer(step_, step::cnt, name, good, -any);
    if (out.type != Op::none) {
      if (count < 0 || count > std::numeric_limits<std::uint16_t>::max()) {
        good = false;
        complaints_.error(xml_.position(step_[step::cnt]),
                          fmt::format("{}: cnt is {}, which is out of range", name(), count),
                          fmt::format("write 1 to {} chunks per step", most_chunks));
      }
      out.count = static_cast<std::uint16_t>(count);
    }
    out.depends_block = integer(step_, step::depid, name, good, none);
    out.depends_step = integer(step_, step::deps, name, good, -any);
    if (out.depends_block == none) out.depends_step = none;
    out.has_dependents = integer(step_, step::hasdep, name, good, 0, 1) == 1;
    return good;
  }

  template <class Name>
  void read_coding(const Name& name, bool& good, Step& out) {
    const Op type = word(step_, step::coding, name, good, coding_of, "write encode or decode");
    if (out.type != Op::copy) {
      good = false;
      complaints_.error(
          xml_.position(step_[step::coding]),
          name() + ": a step of type " + std::string(step_.text(step::type)) + " has a coding",
          "only steps of type cpy encode or decode: copy to scratch with coding=\"encode\" and send the copy");
    }
    out.type = type;
  }

  const XmlText& xml_;
  Complaints& complaints_;
  Algorithm out_;
  XmlAttributes<step::known.size()> step_{step::known};
  bool header_good_ = false;
  bool counted_ = false;  // ngpus was read
};

}  // namespace

std::optional<Algorithm> read_xml_text(const std::string& name, std::string text, config::Diagnostics& diagnostics) {
  Complaints complaints(name, diagnostics);
  const XmlText xml(name, std::move(text), complaints, "an algorithm is an element <algo>");
  if (!xml.ok()) return std::nullopt;
  return Reader(xml, name, complaints).read();
}

std::optional<Algorithm> read_xml(const std::string& file, config::Diagnostics& diagnostics) {
  auto text = formats::read_file({.file = file, .remedy = "name an MSCCL XML file"}, XmlText::most_bytes, diagnostics);
  if (!text) return std::nullopt;
  return read_xml_text(file, std::move(*text), diagnostics);
}

bool is_xml(const std::string& file) {
  if (std::filesystem::path(file).extension() == ".xml") return true;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  std::ifstream in(file, std::ios::binary);
  char first = 0;
  for (int i = 0; i < 1000 && in.get(first); ++i) {
    if (std::isspace(static_cast<unsigned char>(first)) || static_cast<unsigned char>(first) >= 0x80) continue;
    return first == '<';
  }
  return false;
}

}  // namespace moire::msccl
