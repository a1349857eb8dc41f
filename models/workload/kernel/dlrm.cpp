// The operator dlrm_iteration appends one training iteration of DLRM. The dense layers are data-parallel and the
// embeddings table-parallel, as in the scale-out study of arXiv 2305.06942.
#include "models/workload/kernel/embedding_spec.hpp"
#include "models/workload/kernel/gemm.hpp"
#include "models/workload/kernel/operators.hpp"
#include "models/workload/kernel/stream.hpp"

namespace moire::kernel {

namespace {

struct DlrmSpec {
  EmbeddingSpec embedding;  // `embedding.schedule` determines whether the forward All-to-All is fused
  std::int64_t bottom_layers = 0;
  std::int64_t top_layers = 0;
  std::int64_t width = 0;  // inputs and outputs of every dense layer
  builder::DataType dtype = builder::DataType::bf16;
  static void describe(config::Describer<DlrmSpec>& d);
};

void DlrmSpec::describe(config::Describer<DlrmSpec>& d) {
  d.component("dlrm_iteration", "One training iteration of DLRM on every rank.");
  d.field("embedding", &DlrmSpec::embedding, "Embedding bags and the forward All-to-All");
  d.field("bottom_layers", &DlrmSpec::bottom_layers, "Dense layers before the interaction").range(0, 1000);
  d.field("top_layers", &DlrmSpec::top_layers, "Dense layers after the interaction").range(0, 1000);
  d.field("width", &DlrmSpec::width, "Inputs and outputs of a dense layer").range(1, 1 << 20);
  d.field("dtype", &DlrmSpec::dtype, "Element type of the dense layers")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
  d.check([](const DlrmSpec& s) -> std::optional<config::Problem> {
    if (s.embedding.schedule != Schedule::bulk_synchronous && s.embedding.schedule != Schedule::fused)
      return config::Problem{"the iteration needs the embedding and its All-to-All",
                             "write embedding.schedule: bulk_synchronous or fused"};
    return std::nullopt;
  });
}

std::optional<config::Problem> check_dlrm(const DlrmSpec& spec, const libraries::EquippedSystem& system) {
  const EmbeddingSpec& embedding = spec.embedding;
  if (embedding.engine == collective::Engine::cu && !embedding.library && !system.software.library)
    return config::Problem{"the All-to-All of the gradients needs a collective library",
                           "write embedding.library: ../libraries/rccl.yaml, or library in the system"};
  return check_embedding(embedding, system);
}

// Appends all operations to one queue. The forward pass consists of bottom MLP, embedding and All-to-All, interaction,
// and top MLP. The backward pass consists of top MLP, interaction, All-to-All of the gradients, embedding update,
// bottom MLP, and optimiser of the dense layers.
void append_dlrm(builder::Builder& build, const DlrmSpec& spec) {
  const EmbeddingSizes sizes(spec.embedding, build.ranks());
  const std::int64_t batch = sizes.samples_per_rank;
  const auto layers = [&](std::int64_t count, const char* name, const GemmSpec& gemm) {
    for (std::int64_t i = 0; i < count; ++i) append_gemm(build, gemm, name);
  };
  const GemmSpec forward{.m = batch, .n = spec.width, .k = spec.width, .dtype = spec.dtype};
  const GemmSpec weight_gradient{.m = spec.width, .n = spec.width, .k = batch, .dtype = spec.dtype};
  const double all_vectors = sizes.bytes_per_peer.value * build.ranks();  // bytes of all tables for a rank's samples
  const double dense = static_cast<double>(batch * spec.width) * builder::bytes_of(spec.dtype);
  const double gathered =
      static_cast<double>(spec.embedding.tables_per_gpu * spec.embedding.global_batch * spec.embedding.pooling) *
      sizes.vector_bytes;
  const double weights = static_cast<double>((spec.bottom_layers + spec.top_layers) * spec.width * spec.width) * 4;

  layers(spec.bottom_layers, "bottom_forward", forward);
  append_embedding_all_to_all(build, spec.embedding);
  append_stream(build, {.read = Bytes{all_vectors + dense}, .write = Bytes{dense}}, "interaction_forward");
  layers(spec.top_layers, "top_forward", forward);
  layers(spec.top_layers, "top_backward_data", forward);
  layers(spec.top_layers, "top_backward_weights", weight_gradient);
  append_stream(build, {.read = Bytes{all_vectors + dense}, .write = Bytes{all_vectors + dense}},
                "interaction_backward");
  collective::append(build, exchange_of(spec.embedding, sizes, build.ranks()), "gradient_all_to_all");
  // Every gathered row is read, changed and written back (SGD). Rows that occur twice in a batch are not merged.
  append_stream(build, {.read = Bytes{gathered}, .write = Bytes{gathered}}, "embedding_update");
  layers(spec.bottom_layers, "bottom_backward_data", forward);
  layers(spec.bottom_layers, "bottom_backward_weights", weight_gradient);
  append_stream(build, {.read = Bytes{2 * weights}, .write = Bytes{weights}}, "optimiser");
}

}  // namespace

builder::Operator dlrm_operator() {
  return builder::make_operator<DlrmSpec>("dlrm_iteration", append_dlrm, check_dlrm);
}

}  // namespace moire::kernel
