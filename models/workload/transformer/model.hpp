// The published dimensions of a dense decoder-only transformer. Each file of configs/models is one ModelSpec.
#pragma once

#include <cstdint>
#include <string>

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::transformer {

struct ModelSpec {
  std::string description;
  std::int64_t layers = 1;
  std::int64_t hidden = 0;    // width of the residual stream
  std::int64_t heads = 0;     // query heads
  std::int64_t kv_heads = 0;  // key and value heads; several query heads may share one
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  // width of the feed-forward layer
  bool gated = false;    // the feed-forward layer has a gate matrix beside its first one (as SwiGLU)
  std::int64_t vocabulary = 0;
  static void describe(config::Describer<ModelSpec>& d);

  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t first_matrices() const { return gated ? 2 : 1; }  // of the feed-forward layer
  // Returns the number of parameters of one layer.
  double layer_parameters() const;
};

}  // namespace moire::transformer
