// The operations of a transformer layer with tensor and sequence parallelism (Megatron-LM, arXiv 2205.05198). Between
// the GEMMs every rank has its share of the tokens, so each GEMM begins with an all-gather or ends with a
// reduce-scatter.
#pragma once

#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "models/workload/kernel/stream.hpp"
#include "models/workload/tensor_parallel/spec.hpp"
#include "models/workload/transformer/attention.hpp"
#include "models/workload/transformer/model.hpp"

namespace moire::transformer {

using config::Problem;
using kernel::GemmSpec;
using tensor_parallel::AllGatherGemmSpec;
using tensor_parallel::GemmReduceScatterSpec;
using tensor_parallel::Mover;

enum class Pass { prefill, decode, training };

struct TransformerSpec {
  ModelSpec model;
  Pass pass = Pass::prefill;
  std::int64_t layers = 1;
  std::int64_t sequences = 1;  // over all ranks
  std::int64_t length = 1;     // tokens per sequence; decoding adds one to each
  double attention_efficiency = 0.7;
  tensor_parallel::Schedule schedule = tensor_parallel::Schedule::bulk_synchronous;
  Mover rows = Mover::copy_engine;  // how a fused all-gather + GEMM gets its rows
  Mover tiles = Mover::store;       // how a fused GEMM + reduce-scatter sends its tiles
  std::int64_t chunks = 1;
  std::optional<bool> store_beside{};
  std::optional<libraries::LibrarySpec> library{};
  static void describe(config::Describer<TransformerSpec>& d);

  std::int64_t tokens() const { return pass == Pass::decode ? sequences : sequences * length; }
};

// Tells a listener that the gradient of a matrix of weights is complete.
struct Gradient {
  double parameters = 0;
};

// Calls `tell` with the name and spec of every operation of one layer on one rank, in order, and with the gradient of
// each matrix of weights after the product that computes it.
template <class Tell>
class Layer {
 public:
  Layer(const TransformerSpec& spec, program::Rank ranks, Tell& tell) : spec_(spec), ranks_(ranks), tell_(tell) {}

  void forward() {
    const ModelSpec& model = spec_.model;
    transposed_weights_ = true;
    norm("attention_norm", 1);
    gather("qkv", model.query_width() + 2 * model.kv_width(), model.hidden);
    attention("attention", false);
    scatter("projection", model.hidden, model.query_width());
    norm("ffn_norm", 1);
    gather("ffn_up", model.first_matrices() * model.ffn, model.hidden);
    activation("activation", model.first_matrices(), 1);
    scatter("ffn_down", model.hidden, model.ffn);
  }

  // The backward pass has a reduce-scatter where the forward pass has an all-gather, and the reverse. Gradients of
  // weights need no communication.
  void backward() {
    const ModelSpec& model = spec_.model;
    transposed_weights_ = false;
    const std::int64_t up = model.first_matrices() * model.ffn;
    const std::int64_t qkv = model.query_width() + 2 * model.kv_width();
    gather("ffn_down_data", model.ffn, model.hidden);
    weights("ffn_down_weights", over(model.ffn), model.hidden);
    activation("activation_backward", model.first_matrices() + 1, model.first_matrices());
    scatter("ffn_up_data", model.hidden, up);
    weights("ffn_up_weights", model.hidden, over(up));
    norm("ffn_norm_backward", 2);
    gather("projection_data", model.query_width(), model.hidden);
    weights("projection_weights", over(model.query_width()), model.hidden);
    attention("attention_backward", true);
    scatter("qkv_data", model.hidden, qkv);
    weights("qkv_weights", model.hidden, over(qkv));
    norm("attention_norm_backward", 2);
  }

 private:
  std::int64_t over(std::int64_t whole) const { return (whole + ranks_ - 1) / ranks_; }
  double bytes(std::int64_t rows, std::int64_t width) const {
    return static_cast<double>(rows) * static_cast<double>(width) * builder::bytes_of(builder::DataType::bf16);
  }
  GemmSpec product(std::int64_t n, std::int64_t k) const {
    return {.m = spec_.tokens(), .n = n, .k = k, .transposed_b = transposed_weights_};
  }

  // With a single rank, the product needs no collective.
  void gather(const char* name, std::int64_t n, std::int64_t k) {
    if (ranks_ == 1) return tell_(name, product(n, k));
    AllGatherGemmSpec made;
    made.gemm = product(n, k);
    made.schedule = spec_.schedule;
    made.mover = spec_.rows;
    made.chunks = spec_.chunks;
    made.library = spec_.library;
    made.store_beside = spec_.store_beside;
    tell_(name, made);
  }
  void scatter(const char* name, std::int64_t n, std::int64_t k) {
    if (ranks_ == 1) return tell_(name, product(n, k));
    GemmReduceScatterSpec made;
    made.gemm = product(n, k);
    made.schedule = spec_.schedule;
    made.mover = spec_.tiles;
    made.library = spec_.library;
    made.store_beside = spec_.store_beside;
    tell_(name, made);
  }
  void weights(const char* name, std::int64_t m, std::int64_t n) {
    tell_(name, GemmSpec{.m = m, .n = n, .k = spec_.tokens()});
    tell_(Gradient{static_cast<double>(m) * static_cast<double>(n)});
  }
  // One kernel computes the residual sum and the norm of the rank's share of the tokens in one pass. `inputs`: number
  // of tensors that it reads in addition to the residual sum.
  void norm(const char* name, int inputs) {
    const double all = bytes(over(spec_.tokens()), spec_.model.hidden);
    tell_(name, kernel::StreamSpec{.read = Bytes{all * (1 + inputs)}, .write = Bytes{all * 2}});
  }
  void activation(const char* name, std::int64_t read, std::int64_t written) {
    const double one = bytes(spec_.tokens(), over(spec_.model.ffn));
    tell_(name, kernel::StreamSpec{.read = Bytes{one * static_cast<double>(read)},
                                   .write = Bytes{one * static_cast<double>(written)}});
  }
  void attention(const char* name, bool backward) {
    const ModelSpec& model = spec_.model;
    const bool decoding = spec_.pass == Pass::decode;
    // If there are more ranks than key and value heads, several ranks have copies of the same heads.
    tell_(name, AttentionSpec{.tokens = spec_.tokens(),
                              .context = spec_.length + (decoding ? 1 : 0),
                              .queries = decoding ? 1 : spec_.length,
                              .heads = over(model.heads),
                              .kv_heads = std::gcd(over(model.heads), over(model.kv_heads)),
                              .head_dim = model.head_dim,
                              .efficiency = spec_.attention_efficiency,
                              .causal = !decoding,
                              .backward = backward});
  }

  const TransformerSpec& spec_;
  program::Rank ranks_;
  Tell& tell_;
  // A linear layer stores its weights as [outputs][inputs]. The inner dimension of a product is the inputs in the
  // forward pass, so that B is transposed, and the outputs in the backward pass.
  bool transposed_weights_ = true;
};

// A listener of Layer that checks whether the machine can run the operations. It keeps the first problem.
class Checks {
 public:
  explicit Checks(const libraries::EquippedSystem& system) : system_(system) {}
  void operator()(const char* name, const AllGatherGemmSpec& spec) {
    note(name, tensor_parallel::check(spec, system_, system_.node.gpu.compute.total_cus()));
  }
  void operator()(const char* name, const GemmReduceScatterSpec& spec) {
    note(name, tensor_parallel::check(spec, system_, system_.node.gpu.compute.total_cus()));
  }
  void operator()(const char* name, const GemmSpec& spec) { note(name, kernel::check_gemm(spec, system_)); }
  void operator()(const char*, const kernel::StreamSpec&) {}
  void operator()(const char*, const AttentionSpec&) {}
  void operator()(const Gradient&) {}
  const std::optional<Problem>& problem() const { return problem_; }

 private:
  void note(const char* name, std::optional<Problem> found) {
    if (!found || problem_) return;
    problem_ = std::move(found);
    problem_->what = fmt::format("{}: {}", name, problem_->what);
  }
  const libraries::EquippedSystem& system_;
  std::optional<Problem> problem_;
};

// A listener of Layer that appends the operations.
struct Appends {
  builder::Builder& build;
  void operator()(const char* name, const AllGatherGemmSpec& spec) const { tensor_parallel::append(build, spec, name); }
  void operator()(const char* name, const GemmReduceScatterSpec& spec) const {
    tensor_parallel::append(build, spec, name);
  }
  void operator()(const char* name, const GemmSpec& spec) const { kernel::append_gemm(build, spec, name); }
  void operator()(const char* name, const kernel::StreamSpec& spec) const { kernel::append_stream(build, spec, name); }
  void operator()(const char* name, const AttentionSpec& spec) const { append_attention(build, spec, name); }
  void operator()(const Gradient&) const {}
};

}  // namespace moire::transformer
