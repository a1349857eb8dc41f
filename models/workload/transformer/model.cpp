#include "models/workload/transformer/model.hpp"

#include <fmt/format.h>

#include "sim/config/config.hpp"

namespace moire::transformer {

void ModelSpec::describe(config::Describer<ModelSpec>& d) {
  constexpr std::int64_t most = 1 << 20;
  d.component("transformer_model", "The shape of a dense transformer: a file in configs/models.");
  d.sourced();
  d.field("description", &ModelSpec::description, "Name, who published it and when").or_default();
  d.field("layers", &ModelSpec::layers, "Number of layers of the whole model").range(1, 10'000);
  d.field("hidden", &ModelSpec::hidden, "Width of the residual stream").range(1, most);
  d.field("heads", &ModelSpec::heads, "Number of attention heads").range(1, most);
  d.field("kv_heads", &ModelSpec::kv_heads, "Number of key and value heads; fewer than `heads` with grouped queries")
      .range(1, most);
  d.field("head_dim", &ModelSpec::head_dim, "Width of a head").range(1, 4096);
  d.field("ffn", &ModelSpec::ffn, "Width of the feed-forward layer").range(1, 1 << 24);
  d.field("gated", &ModelSpec::gated, "true: the feed-forward layer has a gate besides its first matrix (SwiGLU)")
      .or_default();
  d.field("vocabulary", &ModelSpec::vocabulary, "Number of tokens in the vocabulary").range(0, 1 << 26).or_default();
  d.check([](const ModelSpec& s) -> std::optional<config::Problem> {
    if (s.heads % s.kv_heads == 0) return std::nullopt;
    return config::Problem{fmt::format("{} heads cannot share {} key and value heads evenly", s.heads, s.kv_heads),
                           "make heads a multiple of kv_heads"};
  });
}

double ModelSpec::layer_parameters() const {
  const auto width = static_cast<double>(hidden);
  const auto attention = static_cast<double>(2 * query_width() + 2 * kv_width());
  return width * (attention + static_cast<double>((first_matrices() + 1) * ffn));
}

}  // namespace moire::transformer
