// The attention core as one kernel: a workgroup holds a block of queries of one head and walks through the keys and
// values (FlashAttention-2, arXiv 2307.08691), so that scores never reach memory.
#pragma once

#include <string>

#include "models/workload/builder/builder.hpp"

namespace moire::transformer {

struct AttentionSpec {
  std::int64_t tokens = 0;   // queries of one rank, over all sequences
  std::int64_t context = 0;  // keys that a query sees; with `causal` half of them in the mean
  std::int64_t queries = 0;  // of one sequence: they share keys and values. 1: decoding
  std::int64_t heads = 0;    // of one rank
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  double efficiency = 1;  // share of the matrix rate of a tuned GEMM
  bool causal = true;
  bool backward = false;  // gradients of queries, keys and values, with the scores computed again
};

// Operations and bytes of one rank.
struct AttentionWork {
  std::int64_t workgroups = 0;
  double flop = 0;
  double requested = 0;  // bytes that workgroups load, by way of the L2
  double loaded = 0;     // bytes of distinct queries, keys and values
  double written = 0;
};
AttentionWork work_of(const AttentionSpec& spec, std::int64_t places);

void append_attention(builder::Builder& build, const AttentionSpec& spec, const std::string& name);

}  // namespace moire::transformer
