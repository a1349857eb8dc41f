// One training iteration of DLRM: dense layers data-parallel, embedding tables table-parallel (paper 0's scale-out
// study).
#pragma once

#include "models/workload/kernel/embedding_spec.hpp"

namespace moire::kernel {

struct DlrmSpec {
  EmbeddingSpec embedding;  // its schedule says whether the forward All-to-All is fused
  std::int64_t bottom_layers = 0;
  std::int64_t top_layers = 0;
  std::int64_t width = 0;  // of every dense layer
  builder::DataType dtype = builder::DataType::bf16;
  static void describe(config::Describer<DlrmSpec>& d);
};

std::optional<config::Problem> check_dlrm(const DlrmSpec& spec, const machine::SystemSpec& system);
// Bottom MLP, embedding + All-to-All, interaction, top MLP; then backward: top MLP, interaction, All-to-All of the
// gradients, embedding update, bottom MLP, optimiser of the dense layers. One queue.
void append_dlrm(builder::Builder& build, const DlrmSpec& spec);

}  // namespace moire::kernel
