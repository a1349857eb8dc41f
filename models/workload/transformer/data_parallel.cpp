// The operator data_parallel_step appends the forward and backward pass of the layers, the exchange of gradients in
// buckets during the backward pass, the optimiser, and the exchange of the updated parameters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/workload/chunked/spec.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/transformer/layer.hpp"
#include "models/workload/transformer/operators.hpp"

namespace moire::transformer {

namespace {

using chunked::Collective;
using chunked::Compression;

constexpr double gradient_bytes = 2;  // bytes of a gradient or a parameter in bf16
// Bytes per parameter of Adam in mixed precision (ZeRO, arXiv 1910.02054): parameter, momentum and variance in fp32.
constexpr double state_bytes = 12;

enum class Priority { normal, high };
enum class Optimiser { plain, sharded };
// library: a kernel of the collective library. host: chunks that host threads forward, which may be compressed.
enum class By { library, host };

// How gradients or parameters are exchanged. The bytes are not a key; they follow from the model.
struct Exchange : chunked::ChunkedSpec {
  By by = By::library;
};
struct GradientsSpec : Exchange {
  std::optional<Collective> collective{};  // absent: the collective that the optimiser needs
  static void describe(config::Describer<GradientsSpec>& d);
};
struct ParametersSpec : Exchange {
  Collective collective = Collective::all_gather;
  static void describe(config::Describer<ParametersSpec>& d);
};

struct StepSpec {
  ModelSpec model;
  std::int64_t layers = 1;
  std::int64_t sequences = 1;  // of each rank
  std::int64_t length = 1;
  double attention_efficiency = 0.7;
  Bytes bucket{25. * 1024 * 1024};
  bool overlap = true;
  Priority priority = Priority::normal;  // of the stream in which gradients are exchanged
  Optimiser optimiser = Optimiser::plain;
  GradientsSpec gradients{};
  ParametersSpec parameters{};
  static void describe(config::Describer<StepSpec>& d);

  TransformerSpec pass() const {
    TransformerSpec made;
    made.model = model;
    made.pass = Pass::training;
    made.layers = layers;
    made.sequences = sequences;
    made.length = length;
    made.attention_efficiency = attention_efficiency;
    return made;
  }
  Collective of_gradients() const {
    return gradients.collective.value_or(optimiser == Optimiser::sharded ? Collective::reduce_scatter
                                                                         : Collective::all_reduce);
  }
  double all_parameters() const { return model.layer_parameters() * static_cast<double>(layers); }
};

template <class Spec>
void describe_exchange(config::Describer<Spec>& d) {
  d.field("by", &Spec::by,
          "library: a kernel of the collective library of the system; host: chunks that host threads forward (as in "
          "chunked_all_reduce and the other chunked operators), which may be compressed")
      .choices({{"library", By::library}, {"host", By::host}})
      .or_default();
  d.field("compression", &Spec::compression, "With by: host: off, every_hop or root, as in the chunked operator")
      .choices({{"off", Compression::off}, {"every_hop", Compression::every_hop}, {"root", Compression::root}})
      .or_default();
  d.field("between_nodes", &Spec::between_nodes, "With compression every_hop: only hops to another node are compressed")
      .or_default();
  d.field("codec", &Spec::codec, "The codec, a file in configs/codecs").optional();
  d.field("chunks", &Spec::chunks,
          "With by: host: number of chunks of each rank's share (for a broadcast: of the buffer); absent: the number "
          "for which a formula predicts the shortest time")
      .range(1, 1 << 16)
      .optional();
  d.field("streams", &Spec::streams, "With by: host: number of host streams for each kind of work")
      .range(1, 64)
      .or_default();
  d.check([](const Spec& s) -> std::optional<Problem> {
    const bool compressed = s.compression != Compression::off;
    if (s.by == By::library && (compressed || s.codec || s.chunks || s.streams > 1 || s.between_nodes))
      return Problem{"codecs, chunks and streams need chunks that host threads forward", "write by: host"};
    if (compressed != s.codec.has_value())
      return Problem{
          compressed ? "compression is on, but no codec is given" : "a codec is given although compression is off",
          compressed ? "write codec: ../codecs/zfp.yaml" : "write compression: every_hop, or leave it out"};
    if (s.between_nodes && s.compression != Compression::every_hop)
      return Problem{"between_nodes only goes with compression every_hop",
                     "write compression: every_hop, or leave it out"};
    return std::nullopt;
  });
}

void GradientsSpec::describe(config::Describer<GradientsSpec>& d) {
  d.component("gradient_exchange", "How a data_parallel_step sums the gradients of a bucket over the ranks.");
  d.field("collective", &GradientsSpec::collective,
          "all_reduce: every rank gets all sums; reduce_scatter: every rank gets its share of the sums; absent: "
          "reduce_scatter if the optimiser is sharded, else all_reduce")
      .choices({{"all_reduce", Collective::all_reduce}, {"reduce_scatter", Collective::reduce_scatter}})
      .optional();
  describe_exchange(d);
}

void ParametersSpec::describe(config::Describer<ParametersSpec>& d) {
  d.component("parameter_exchange",
              "How the ranks of a data_parallel_step with a sharded optimiser get each other's parameters.");
  d.field("collective", &ParametersSpec::collective,
          "all_gather; or a broadcast of each rank's share, one after the other")
      .choices({{"all_gather", Collective::all_gather}, {"broadcast", Collective::broadcast}})
      .or_default();
  describe_exchange(d);
}

void StepSpec::describe(config::Describer<StepSpec>& d) {
  d.component("data_parallel_step",
              "A training step in which every rank (or each rank of `group`) has all layers and its own sequences: the "
              "forward pass, the backward pass while gradients are exchanged in buckets, the optimiser, and, with a "
              "sharded optimiser, the exchange of parameters.");
  d.field("model", &StepSpec::model, "The model's shape, a file in configs/models")
      .example("../models/llama2_70b.yaml");
  d.field("layers", &StepSpec::layers, "Layers of the step, all of the same shape").range(1, 10'000).or_default();
  d.field("sequences", &StepSpec::sequences, "Number of sequences of each rank").range(1, 1 << 20);
  d.field("length", &StepSpec::length, "Number of tokens in a sequence").range(1, 1 << 24);
  d.field("attention_efficiency", &StepSpec::attention_efficiency, "As in the operator transformer")
      .range(0.01, 1)
      .or_default();
  d.field("bucket", &StepSpec::bucket,
          "A bucket of gradients is exchanged as soon as matrices of this size (bf16) are complete, beginning with the "
          "last layer (bucket_cap_mb of PyTorch's DDP)")
      .positive()
      .or_default();
  d.field("overlap", &StepSpec::overlap, "false: the first bucket waits for the end of the backward pass").or_default();
  d.field("priority", &StepSpec::priority,
          "Priority of the stream that exchanges gradients: with high, its workgroups (sums, codecs, kernels of the "
          "library) are placed before those of the backward pass")
      .choices({{"normal", Priority::normal}, {"high", Priority::high}})
      .or_default();
  d.field("optimiser", &StepSpec::optimiser,
          "plain: every rank updates all parameters; sharded: each rank updates its share, and the ranks exchange the "
          "shares (ZeRO). The optimiser is Adam with an fp32 copy, which reads 14 B and writes 14 B for each parameter")
      .choices({{"plain", Optimiser::plain}, {"sharded", Optimiser::sharded}})
      .or_default();
  d.field("gradients", &StepSpec::gradients, "How gradients are summed").or_default();
  d.field("parameters", &StepSpec::parameters, "Optimiser sharded: how parameters are exchanged").or_default();
  d.check([](const StepSpec& s) -> std::optional<Problem> {
    const Collective collective = s.of_gradients();
    if (s.optimiser == Optimiser::plain && collective == Collective::reduce_scatter)
      return Problem{
          "a plain optimiser needs the sums of all gradients, but reduce_scatter gives each rank only a share",
          "write optimiser: sharded, or gradients: {collective: all_reduce}"};
    if (s.gradients.compression == Compression::root && collective == Collective::reduce_scatter)
      return Problem{"a partial sum changes at every hop, so a reduce_scatter cannot be compressed once",
                     "write gradients: {compression: every_hop}, or collective: all_reduce"};
    return std::nullopt;
  });
}

// --- Exchanges

Exchange with_bytes(Exchange exchange, double bytes) {
  exchange.bytes = Bytes{std::ceil(bytes)};
  return exchange;
}

chunked::Shape shape_of(const Exchange& exchange, Collective collective, std::int64_t root,
                        const libraries::EquippedSystem& system) {
  if (collective != Collective::broadcast) return chunked::shape_of(exchange, collective, system);
  chunked::BroadcastSpec spec;
  static_cast<chunked::ChunkedSpec&>(spec) = exchange;
  spec.root = root;
  return chunked::shape_of(spec, system);
}

collective::Collective of_library(const Exchange& exchange, Collective which, std::int64_t root) {
  constexpr collective::Kind kinds[] = {collective::Kind::broadcast, collective::Kind::all_gather,
                                        collective::Kind::reduce_scatter, collective::Kind::all_reduce};
  return {.kind = kinds[static_cast<std::size_t>(which)],
          .bytes = exchange.bytes,
          .element_bytes = gradient_bytes,
          .root = static_cast<program::Rank>(root)};
}

// Appends an exchange. Exchanges with the same name are reported as one.
void append_exchange(builder::Builder& build, const Exchange& exchange, Collective which, std::int64_t root,
                     const std::string& name) {
  if (exchange.by == By::host) {
    const chunked::Plan plan = chunked::plan_of(exchange, shape_of(exchange, which, root, build.system), build.system);
    return chunked::append(build, exchange, plan, name);
  }
  auto& operations = build.queue.operations;
  const std::size_t first = operations.size();
  append(build, of_library(exchange, which, root), name);
  for (std::size_t i = first; i < operations.size(); ++i)
    std::visit([&name](auto& operation) { operation.name = name; }, operations[i]);
}

std::optional<Problem> check_exchange(const Exchange& exchange, Collective which, const char* name,
                                      const libraries::EquippedSystem& system) {
  std::optional<Problem> found = exchange.by == By::library
                                     ? check(of_library(exchange, which, 0), system)
                                     : chunked::check(exchange, shape_of(exchange, which, 0, system), system);
  if (found) found->what = fmt::format("{}: {}", name, found->what);
  return found;
}

// Returns the largest number of bytes of parameters that a rank's share has.
double share_of(const StepSpec& spec, const libraries::EquippedSystem& system) {
  return std::ceil(spec.all_parameters() / static_cast<double>(system.ranks())) * gradient_bytes;
}

// --- Buckets

// Collects gradients, in the order of the backward pass, into buckets of at least `least` bytes.
class Buckets {
 public:
  explicit Buckets(double least) : least_(least) {}
  // Returns the bytes of the bucket that `gradient` completes; 0 if it completes none.
  double add(const Gradient& gradient) {
    open_ += gradient.parameters * gradient_bytes;
    return open_ >= least_ ? rest() : 0;
  }
  double rest() { return std::exchange(open_, 0); }

 private:
  double least_, open_ = 0;
};

// A listener of Layer that only records the sizes of the buckets.
struct Sizes {
  Buckets buckets;
  std::vector<double> bytes{};
  template <class Spec>
  void operator()(const char*, const Spec&) {}
  void operator()(const Gradient& gradient) {
    if (const double full = buckets.add(gradient); full > 0) bytes.push_back(full);
  }
};

std::vector<double> buckets_of(const StepSpec& spec) {
  const TransformerSpec pass = spec.pass();
  Sizes sizes{Buckets(spec.bucket.value)};
  Layer<Sizes> layer(pass, 1, sizes);
  for (std::int64_t number = 0; number < spec.layers; ++number) layer.backward();
  if (const double rest = sizes.buckets.rest(); rest > 0) sizes.bytes.push_back(rest);
  return sizes.bytes;
}

// --- The step

class Step {
 public:
  Step(builder::Builder& build, const StepSpec& spec)
      : build_(build),
        spec_(spec),
        appends_{build},
        buckets_(spec.bucket.value),
        gradients_(build.unique("gradients")),
        parameters_(build.unique("parameters")),
        stream_(build.stream("gradients")) {
    if (spec.priority == Priority::high) ++stream_.priority;
  }

  void append() {
    const TransformerSpec pass = spec_.pass();
    Layer<Step> layer(pass, 1, *this);
    for (std::int64_t number = 0; number < spec_.layers; ++number) layer.forward();
    for (std::int64_t number = 0; number < spec_.layers; ++number) layer.backward();
    if (const double rest = buckets_.rest(); rest > 0) complete(rest);
    if (!spec_.overlap) {
      build_.follow(stream_, "gradients");
      for (const double bytes : waiting_) exchange(bytes);
    }
    build_.join(stream_, build_.unique("gradients_are_there"));
    const bool sharded = spec_.optimiser == Optimiser::sharded;
    const double own = sharded ? share_of(spec_, build_.system) / gradient_bytes : spec_.all_parameters();
    const Bytes moved{own * (state_bytes + gradient_bytes)};
    kernel::append_stream(build_, {.read = moved, .write = moved}, "optimiser");
    if (!sharded) return;
    const Exchange parameters = with_bytes(spec_.parameters, share_of(spec_, build_.system));
    builder::Builder own_queue = quiet(build_.queue);
    const std::int64_t roots = spec_.parameters.collective == Collective::broadcast ? build_.ranks() : 1;
    for (std::int64_t root = 0; root < roots; ++root)
      append_exchange(own_queue, parameters, spec_.parameters.collective, root, parameters_);
  }

  template <class Spec>
  void operator()(const char* name, const Spec& spec) const {
    appends_(name, spec);
  }
  void operator()(const Gradient& gradient) {
    if (const double full = buckets_.add(gradient); full > 0) complete(full);
  }

 private:
  void complete(double bytes) {
    if (!spec_.overlap) return waiting_.push_back(bytes);
    build_.follow(stream_, "gradients");
    exchange(bytes);
  }
  void exchange(double bytes) {
    builder::Builder beside = quiet(stream_);
    append_exchange(beside, with_bytes(spec_.gradients, bytes), spec_.of_gradients(), 0, gradients_);
  }
  // Returns a builder for another queue. It has no notes, so that its decisions for each bucket are not reported.
  builder::Builder quiet(program::Queue& queue) const {
    builder::Builder made{build_.system, build_.program, queue, build_.path};
    made.untried = build_.untried;
    return made;
  }

  builder::Builder& build_;
  const StepSpec& spec_;
  Appends appends_;
  Buckets buckets_;
  std::string gradients_, parameters_;  // names of operations
  program::Queue& stream_;
  std::vector<double> waiting_;
};

std::string loss(const char* what, const Exchange& exchange, Collective which,
                 const libraries::EquippedSystem& system) {
  if (!exchange.codec || !exchange.codec->error_bound) return "";
  const std::int64_t passes = chunked::plan_of(exchange, shape_of(exchange, which, 0, system), system).passes();
  return fmt::format("; a value of {} is coded up to {} times, with an error of up to {:.3g} of the largest value",
                     what, passes, exchange.codec->error_after(passes));
}

std::optional<Problem> check_step(const StepSpec& spec, const libraries::EquippedSystem& system) {
  if (system.ranks() < 2)
    return Problem{"a data-parallel step needs at least 2 ranks", "raise system.nodes or system.node.gpus"};
  const bool sharded = spec.optimiser == Optimiser::sharded;
  const double memory = system.node.gpu.hbm.capacity.value;
  const double each = 2 * gradient_bytes + state_bytes / (sharded ? static_cast<double>(system.ranks()) : 1);
  if (spec.all_parameters() * each > memory)
    return Problem{
        fmt::format("parameters, gradients and optimiser of {} layers take {:.4g} GB per GPU, which has {:.4g} GB",
                    spec.layers, spec.all_parameters() * each * 1e-9, memory * 1e-9),
        "run fewer layers, or write optimiser: sharded"};
  const TransformerSpec pass = spec.pass();
  Checks checks(system);
  Layer<Checks> layer(pass, 1, checks);
  layer.forward();
  layer.backward();
  if (checks.problem()) return checks.problem();
  const std::vector<double> buckets = buckets_of(spec);
  for (const auto at :
       {std::min_element(buckets.begin(), buckets.end()), std::max_element(buckets.begin(), buckets.end())})
    if (auto problem =
            check_exchange(with_bytes(spec.gradients, *at), spec.of_gradients(), "gradients of a bucket", system))
      return problem;
  if (!sharded) return std::nullopt;
  return check_exchange(with_bytes(spec.parameters, share_of(spec, system)), spec.parameters.collective, "parameters",
                        system);
}

void append_step(builder::Builder& build, const StepSpec& spec) {
  if (build.notes != nullptr) {
    const std::vector<double> buckets = buckets_of(spec);
    const double most = *std::max_element(buckets.begin(), buckets.end());
    std::string told = fmt::format("data_parallel_step: gradients are exchanged in {} bucket{} of up to {:.4g} MB",
                                   buckets.size(), buckets.size() == 1 ? "" : "s", most * 1e-6);
    told += loss("gradients", with_bytes(spec.gradients, most), spec.of_gradients(), build.system);
    if (spec.optimiser == Optimiser::sharded)
      told += loss("parameters", with_bytes(spec.parameters, share_of(spec, build.system)), spec.parameters.collective,
                   build.system);
    build.notes->push_back(told);
  }
  Step(build, spec).append();
}

}  // namespace

builder::Operator data_parallel_step_operator() {
  builder::Operator made = builder::make_operator<StepSpec>("data_parallel_step", append_step, check_step);
  made.knobs = {{"bucket", {"5 MiB", "25 MiB", "100 MiB", "400 MiB"}, "25 MiB", "", ""},
                {"priority", {"normal", "high"}, "normal", "", ""},
                {"overlap", {"true", "false"}, "true", "", ""}};
  return made;
}

}  // namespace moire::transformer
