#include "models/workload/collective/msccl.hpp"

#include <fmt/format.h>

#include <numeric>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"
#include "models/workload/collective/algorithm_program.hpp"
#include "models/workload/collective/channel_kernel.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/operators.hpp"
#include "models/workload/collective/selection.hpp"
#include "sim/config/spec.hpp"
#include "sim/config/suggest.hpp"

namespace moire::collective {

namespace {

using libraries::LibrarySpec;
using Loaded = std::shared_ptr<const msccl::Algorithm>;

// True if the library has its own algorithm for this collective, which runs if no file accepts the size.
bool has_own(Kind kind) { return kind < Kind::send && kind != Kind::reduce; }

bool divides(const msccl::Algorithm& algorithm, std::uint64_t bytes, builder::DataType dtype) {
  const auto element = static_cast<std::uint64_t>(builder::bytes_of(dtype));
  return bytes % (static_cast<std::uint64_t>(algorithm.chunks) * element) == 0;
}

bool takes(const msccl::Algorithm& algorithm, const MscclSpec& spec, std::uint64_t bytes) {
  return (spec.in_place ? algorithm.in_place : algorithm.out_of_place) && algorithm.min_bytes <= bytes &&
         (algorithm.max_bytes == 0 || bytes <= algorithm.max_bytes) && divides(algorithm, bytes, spec.dtype);
}

bool codes(const msccl::Algorithm& algorithm) {
  for (const msccl::Gpu& gpu : algorithm.gpus)
    for (const msccl::ThreadBlock& block : gpu.blocks)
      for (const msccl::Step& step : block.steps)
        if (is_coding(step.type)) return true;
  return false;
}

// Reads or compiles the algorithm, checks it against the system, and appends its kernel.
class Appending {
 public:
  Appending(builder::Builder& build, const MscclSpec& spec, const config::Node& node, config::Diagnostics& diagnostics)
      : build_(build), spec_(spec), node_(node), diagnostics_(diagnostics) {}

  bool run() {
    if (spec_.file.has_value() + !spec_.files.empty() + spec_.program.has_value() != 1)
      return fail("exactly one of file, files and program must name the algorithm",
                  "write file: ring.xml, or files: [small.xml, large.xml], or program: {all_reduce_ring: {}}");
    const std::optional<LibrarySpec>& installed = build_.system.software.library;
    library_ = spec_.library ? &*spec_.library : installed ? &*installed : nullptr;
    if (library_ == nullptr || !library_->channels)
      return fail("an algorithm needs a collective library with channels to run it",
                  "write library: ../libraries/nccl.yaml here or in the system");
    if (const auto problem = check_memory(spec_.bytes, build_.system)) {
      diagnostics_.error(node_.place, *problem);
      return false;
    }
    bytes_ = static_cast<std::uint64_t>(spec_.bytes.value);
    if (!spec_.files.empty()) return select();
    const Loaded algorithm = spec_.file ? load(*spec_.file) : compile(*spec_.program);
    return algorithm && (divides(*algorithm, bytes_, spec_.dtype) || fail_to_divide(*algorithm)) && append(algorithm);
  }

  // Metrics of an algorithm that encodes, known after the algorithm has been appended.
  std::vector<std::pair<std::string, double>> stated;

 private:
  bool fail(const std::string& what, const std::string& right) {
    diagnostics_.error(node_.place, what, right);
    return false;
  }

  bool fail_to_divide(const msccl::Algorithm& algorithm) {
    const std::uint64_t unit =
        static_cast<std::uint64_t>(algorithm.chunks) * static_cast<std::uint64_t>(builder::bytes_of(spec_.dtype));
    return fail(fmt::format("{} B cannot be divided into a whole number of elements for each of {} chunks", bytes_,
                            algorithm.chunks),
                fmt::format("write a multiple of {} B, for example {} B", unit, (bytes_ / unit + 1) * unit));
  }

  Loaded load(const std::filesystem::path& file) {
    auto algorithm = msccl::read_xml(file.string(), diagnostics_);
    if (!algorithm) return nullptr;
    if (!fits(*algorithm, file.string())) return nullptr;
    // The time of an algorithm with a wrong result is of no use, so the algorithm is proved first. The run itself
    // reports if the algorithm deadlocks at the size of the run, and append() reports if the library lacks the
    // algorithm's protocol.
    const libraries::ProtocolSpec* protocol = collective::protocol_of(*library_->channels, algorithm->protocol);
    const auto verdict =
        msccl::proved(*algorithm, protocol ? fifo_of(*protocol) : msccl::default_fifo(algorithm->protocol));
    if (!verdict->accepted(*algorithm)) {
      msccl::report(*algorithm, *verdict, diagnostics_);
      return nullptr;
    }
    return std::make_shared<const msccl::Algorithm>(std::move(*algorithm));
  }

  Loaded compile(const config::Node& program) {
    const auto help = "write program: {all_reduce_ring: {channels: 2}}; 'moire compile --list' names them";
    if (!program.is_map() || program.entries.size() != 1) {
      diagnostics_.error(program.place, "a program is one name with a map of parameters", help);
      return nullptr;
    }
    const config::Node::Entry& entry = program.entries.front();
    const mscclang::ProgramEntry* known = mscclang::find_program(entry.key);
    if (known == nullptr) {
      diagnostics_.error(entry.key_place, fmt::format("there is no program {}", config::in_quotes(entry.key)),
                         config::suggestion(entry.key, names(), "programs"));
      return nullptr;
    }
    if (!entry.value.is_map()) {
      diagnostics_.error(entry.value.place,
                         fmt::format("the parameters of {} are {}, not a map", entry.key, found(entry.value)),
                         fmt::format("write {}: {{}} to use the defaults", entry.key));
      return nullptr;
    }
    auto algorithm = known->compile(entry.value, diagnostics_, {build_.system.nodes, build_.system.node.gpus});
    if (!algorithm || !fits(*algorithm, entry.key)) return nullptr;
    return std::make_shared<const msccl::Algorithm>(std::move(*algorithm));
  }

  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const mscclang::ProgramEntry& program : mscclang::programs()) all.push_back(program.name);
    return all;
  }

  bool fits(const msccl::Algorithm& algorithm, const std::string& name) {
    if (algorithm.ranks() == static_cast<std::int32_t>(build_.ranks())) return true;
    return fail(
        fmt::format("{} is an algorithm for {} ranks, but the system has {}", name, algorithm.ranks(), build_.ranks()),
        fmt::format("set system.nodes and system.node.gpus so that there are {} ranks", algorithm.ranks()));
  }

  bool select() {
    std::vector<Loaded> all;
    for (const auto& file : spec_.files) all.push_back(load(file));
    for (const Loaded& algorithm : all) {
      if (!algorithm) return false;
    }
    for (const Loaded& algorithm : all) {
      if (algorithm->collective != all.front()->collective)
        return fail(fmt::format("the files implement different collectives, {} and {}",
                                msccl::to_string(all.front()->collective), msccl::to_string(algorithm->collective)),
                    "name files of one collective");
    }
    for (const Loaded& algorithm : all) {
      if (takes(*algorithm, spec_, bytes_)) return append(algorithm);
    }
    return fall_back(all.front()->collective);
  }

  // Runs the library's own collective, as the runtime does if no algorithm is eligible.
  bool fall_back(Kind kind) {
    if (!has_own(kind))
      return fail(
          fmt::format("no file accepts {} B, and the library has no {} of its own", bytes_, msccl::to_string(kind)),
          "widen minBytes and maxBytes of a file, or use `file`, which ignores them");
    Collective own{.kind = kind, .bytes = spec_.bytes, .method = {.library = spec_.library}};
    if (kind == Kind::all_gather) own.bytes.value /= build_.ranks();
    own.element_bytes = builder::bytes_of(spec_.dtype);
    if (const auto problem = check(own, build_.system)) {
      diagnostics_.error(node_.place, *problem);
      return false;
    }
    collective::append(build_, own, name_of(own.kind));
    return true;
  }

  bool append(const Loaded& algorithm) {
    const libraries::ProtocolSpec* protocol = collective::protocol_of(*library_->channels, algorithm->protocol);
    if (protocol == nullptr)
      return fail(fmt::format("library '{}' has no protocol {}", library_->name, msccl::to_string(algorithm->protocol)),
                  "use another library, or compile the algorithm for another protocol");
    proof::Codings codings;
    if (!follow_codings(*algorithm, fifo_of(*protocol), codings)) return false;
    const RatioOf ratio_of = [this](std::int64_t chunk) { return spec_.codec->ratio_of(chunk); };
    auto steps = algorithm_program(algorithm, bytes_, fifo_of(*protocol),
                                   build_.gpu().l2.duplicated(), codings, ratio_of);
    program::WorkgroupResources resources = resources_of(*library_, build_.gpu(), protocol->threads, steps->channels());
    std::optional<Coding> coding;
    if (!codings.takes.empty()) {
      coding = coding_of(*spec_.codec, build_.gpu(), resources);
      resources = coding->resources();
      const bool lossy = spec_.codec->error_bound.has_value();
      std::vector<std::uint32_t> all(codings.chunks);
      std::iota(all.begin(), all.end(), 0U);
      stated = {{"<operation>_ratio", mean_ratio(all.data(), all.size(), ratio_of)},
                {"<operation>_lossy_hops", lossy ? codings.passes : 0},
                {"<operation>_error_bound", spec_.codec->error_after(codings.passes)}};
    }
    // Thread blocks wait for each other, so all of them must be resident at once.
    const std::int64_t resident = builder::resident_workgroups(build_, resources);
    if (steps->channels() > resident)
      return fail(fmt::format("the algorithm has {} thread blocks per GPU, but the GPU can hold only {} at once",
                              steps->channels(), resident),
                  "give the queue more CUs, or use an algorithm with fewer channels or instances");
    append_channel_kernel(build_, std::move(steps), *library_, *protocol, builder::bytes_of(spec_.dtype),
                          algorithm->name.empty() ? "msccl" : algorithm->name, coding ? &*coding : nullptr);
    return true;
  }

  // Finds the steps that move encoded chunks. Returns false if the codec and the algorithm do not match.
  bool follow_codings(const msccl::Algorithm& algorithm, const msccl::Fifo& fifo, proof::Codings& codings) {
    if (!codes(algorithm))
      return !spec_.codec || !spec_.files.empty() ||
             fail("there is a codec, but no step of the algorithm encodes or decodes", "leave codec out");
    if (!spec_.codec)
      return fail("steps of the algorithm encode or decode, but there is no codec", "write codec: ../codecs/zfp.yaml");
    if (spec_.codec->decompress_on == codec::Runs::engine)
      return fail("the codec decompresses on the GPU's engine, but thread blocks decode by themselves",
                  "write codec.decompress_on: kernel");
    const auto verdict = msccl::proved(algorithm, fifo);
    if (!verdict->patterns.empty()) codings = verdict->patterns.front().codings;
    return true;
  }

  builder::Builder& build_;
  const MscclSpec& spec_;
  const config::Node& node_;
  config::Diagnostics& diagnostics_;
  const LibrarySpec* library_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace

void MscclSpec::describe(config::Describer<MscclSpec>& d) {
  d.component(
      "msccl",
      "A custom collective algorithm, simulated thread block by thread block: MSCCL XML, or a program included in "
      "Moire.");
  d.field("file", &MscclSpec::file, "The algorithm, an MSCCL XML file; its minBytes and maxBytes are ignored").exists();
  d.field("files", &MscclSpec::files,
          "MSCCL XML files of one collective: the first algorithm runs that allows the size (minBytes, maxBytes) and "
          "in-place or out-of-place buffers; if there is none, the library's own algorithm runs")
      .exists()
      .or_default();
  d.field("program", &MscclSpec::program,
          "A program included in Moire with its parameters, {all_reduce_ring: {channels: 2}}, compiled for the ranks "
          "of the system ('moire compile --list')");
  d.field(
       "bytes", &MscclSpec::bytes,
       "Bytes of the whole buffer: for all-gather, reduce-scatter and All-to-All, of the parts of all ranks together")
      .positive();
  d.field("dtype", &MscclSpec::dtype, "Element type")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
  d.field("in_place", &MscclSpec::in_place, "With `files`: input and output are one buffer").or_default();
  d.field(
       "codec", &MscclSpec::codec,
       "The codec of an algorithm whose steps encode and decode, a file in configs/codecs. Each step runs on the CU of "
       "its thread block and takes as long as with the codec's mean ratio. Encoded chunks have the codec's ratios in "
       "the "
       "order of the program: GPU by GPU, thread block by thread block, step by step")
      .optional();
  d.field("library", &MscclSpec::library,
          "The collective library whose kernel runs the algorithm; absent: the library of the system")
      .optional();
}

bool append_msccl(builder::Builder& build, const MscclSpec& spec, const config::Node& node,
                  config::Diagnostics& diagnostics) {
  return Appending(build, spec, node, diagnostics).run();
}

namespace {

// Returns no bandwidths, only the metrics of an algorithm that encodes, which follow from the algorithm's proof.
builder::Exchange exchange_of(const config::Node& node, const libraries::EquippedSystem& system) {
  config::Diagnostics told;  // not needed: append has reported all errors
  const auto spec = *config::parse<MscclSpec>(node, told);
  if (!spec.codec) return {};
  program::Program unused(static_cast<program::Rank>(system.ranks()));
  unused.queues.resize(1);
  builder::Builder build{system, unused, unused.queues[0]};
  Appending again(build, spec, node, told);
  again.run();
  return {.size = Bytes{}, .stated = std::move(again.stated)};
}

}  // namespace

builder::Operator msccl_operator() {
  auto made = builder::make_operator<MscclSpec>("msccl", append_msccl);
  made.exchange = exchange_of;
  return made;
}

}  // namespace moire::collective
