// The operator `transformer` appends layers of a transformer that run one after the other.
#include <fmt/format.h>

#include "models/workload/transformer/layer.hpp"
#include "models/workload/transformer/operators.hpp"

namespace moire::transformer {

void TransformerSpec::describe(config::Describer<TransformerSpec>& d) {
  using tensor_parallel::Schedule;
  d.component("transformer",
              "Layers of a dense transformer, with tensor and sequence parallelism over all ranks or over those of "
              "`group` (which may have one rank each). A layer has an attention block and a feed-forward block; both "
              "run forward, and in training also backward.");
  d.field("model", &TransformerSpec::model, "The model's shape, a file in configs/models")
      .example("../models/gpt3_175b.yaml");
  d.field("pass", &TransformerSpec::pass,
          "prefill: all tokens of the sequences, forward; decode: one further token of each sequence; training: "
          "prefill and the backward pass, without recomputation")
      .choices({{"prefill", Pass::prefill}, {"decode", Pass::decode}, {"training", Pass::training}})
      .or_default();
  d.field("layers", &TransformerSpec::layers,
          "Number of layers that run one after the other; all layers of a model have the same shape")
      .range(1, 10'000)
      .or_default();
  d.field("sequences", &TransformerSpec::sequences, "Number of sequences in the batch, over all ranks")
      .range(1, 1 << 20);
  d.field("length", &TransformerSpec::length, "Number of tokens in a sequence; for decode, of tokens in the cache")
      .range(1, 1 << 24);
  d.field("attention_efficiency", &TransformerSpec::attention_efficiency,
          "Share of a tuned GEMM's matrix rate that the attention kernel reaches (FlashAttention-2, arXiv 2307.08691: "
          "50 to 73 % of the A100's peak)")
      .range(0.01, 1)
      .or_default();
  d.field("schedule", &TransformerSpec::schedule,
          "Schedule of every product with its collective: bulk_synchronous, split, pipelined, fused, or gemm (no "
          "collectives at "
          "all)")
      .choices({{"bulk_synchronous", Schedule::bulk_synchronous},
                {"split", Schedule::split},
                {"pipelined", Schedule::pipelined},
                {"fused", Schedule::fused},
                {"gemm", Schedule::gemm}})
      .or_default();
  d.field("rows", &TransformerSpec::rows, "Fused: what moves the rows of A (all_gather_gemm.mover)")
      .choices({{"copy_engine", Mover::copy_engine}, {"push", Mover::push}, {"pull", Mover::pull}})
      .or_default();
  d.field("tiles", &TransformerSpec::tiles, "Fused: what moves the tiles of C (gemm_reduce_scatter.mover)")
      .choices({{"store", Mover::store}, {"add", Mover::add}, {"pull", Mover::pull}})
      .or_default();
  d.field("chunks", &TransformerSpec::chunks, "Fused: number of communication tiles of a rank's rows")
      .range(1, 4096)
      .or_default();
  d.field("store_beside", &TransformerSpec::store_beside,
          "Fused: the store of a tile overlaps with the main loop of the workgroup's next tile; absent: as in the "
          "kernels of the GEMM library")
      .optional();
  d.field("library", &TransformerSpec::library,
          "The collective library, a file in configs/libraries; absent: the library of the system")
      .optional();
}

namespace {

template <class Tell>
void tell_layer(const TransformerSpec& spec, program::Rank ranks, Tell& tell) {
  Layer<Tell> layer(spec, ranks, tell);
  layer.forward();
  if (spec.pass == Pass::training) layer.backward();
}

std::optional<Problem> check_transformer(const TransformerSpec& spec, const libraries::EquippedSystem& system) {
  const auto ranks = static_cast<program::Rank>(system.ranks());
  const ModelSpec& model = spec.model;
  if (model.heads % ranks != 0)
    return Problem{fmt::format("{} attention heads cannot be divided evenly among {} ranks", model.heads, ranks),
                   "use a number of ranks that divides the number of heads, or a `group` of that size"};
  if (ranks > 1 && spec.schedule == tensor_parallel::Schedule::bulk_synchronous && !spec.library &&
      !system.software.library)
    return Problem{"bulk-synchronous collectives need a library",
                   "write library: ../libraries/nccl.yaml here or in the system, or use another schedule"};
  const double memory = system.node.gpu.hbm.capacity.value;
  const double weights = model.layer_parameters() * static_cast<double>(spec.layers) * 2 / ranks;
  if (weights > memory)
    return Problem{fmt::format("the weights of {} layers on {} ranks take {:.4g} GB per GPU, which has {:.4g} GB",
                               spec.layers, ranks, weights * 1e-9, memory * 1e-9),
                   "run fewer layers: the time is proportional to their number"};
  const double cache = 2.0 * static_cast<double>(spec.sequences) * static_cast<double>(spec.length) *
                       static_cast<double>(model.kv_width()) * static_cast<double>(spec.layers) * 2 / ranks;
  if (weights + cache > memory)
    return Problem{fmt::format("weights, keys and values of {} sequences take {:.4g} GB per GPU, which has {:.4g} GB",
                               spec.sequences, (weights + cache) * 1e-9, memory * 1e-9),
                   "run fewer layers, or fewer or shorter sequences"};
  Checks checks(system);
  tell_layer(spec, ranks, checks);
  return checks.problem();
}

void append_transformer(builder::Builder& build, const TransformerSpec& spec) {
  Appends appends{build};
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) tell_layer(spec, build.ranks(), appends);
}

}  // namespace

builder::Operator transformer_operator() {
  builder::Operator made =
      builder::make_operator<TransformerSpec>("transformer", append_transformer, check_transformer);
  made.knobs = {{"schedule", {"bulk_synchronous", "split", "pipelined", "fused"}, "bulk_synchronous", "", ""},
                {"rows", {"copy_engine", "push", "pull"}, "copy_engine", "schedule", "fused"},
                {"tiles", {"store", "add", "pull"}, "store", "schedule", "fused"},
                {"chunks", {"1", "2", "4", "8"}, "1", "schedule", "fused"}};
  return made;
}

}  // namespace moire::transformer
