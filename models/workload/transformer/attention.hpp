// The attention core as one kernel (FlashAttention-2, arXiv 2307.08691): a workgroup holds a block of queries of one
// head and iterates over the keys and values, so scores are never written to memory.
#pragma once

#include <string>

#include "models/workload/builder/builder.hpp"

namespace moire::transformer {

struct AttentionSpec {
  std::int64_t tokens = 0;   // queries of one rank, over all sequences
  std::int64_t context = 0;  // keys of a sequence; with `causal` a query sees half of them on average
  std::int64_t queries = 0;  // queries per sequence, which share its keys and values; 1: decoding
  std::int64_t heads = 0;    // of one rank
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  double efficiency = 1;  // fraction of a tuned GEMM's matrix rate
  bool causal = true;
  bool backward = false;  // computes gradients of queries, keys and values; recomputes the scores
};

// Arithmetic and traffic of attention on one rank.
struct AttentionWork {
  std::int64_t workgroups = 0;
  double flop = 0;
  double requested = 0;  // bytes that workgroups load through the L2
  double loaded = 0;     // bytes of distinct queries, keys and values
  double written = 0;
};
// Returns the work of attention on one rank. `places`: number of workgroups that the GPU holds at once.
AttentionWork work_of(const AttentionSpec& spec, std::int64_t places);

void append_attention(builder::Builder& build, const AttentionSpec& spec, const std::string& name);

}  // namespace moire::transformer
