// Matrix product: one workgroup an output tile, its k-loop one phase in which loads and matrix arithmetic overlap.
#pragma once

#include <cstdint>
#include <string>

#include "models/builder/builder.hpp"

namespace moire::models::kernel {

struct GemmSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  builder::DataType dtype = builder::DataType::bf16;
  static void describe(config::Describer<GemmSpec>& d);
};

struct Tile {
  std::int64_t m;
  std::int64_t n;
};

// The largest tile that still gives every CU one, else the smallest: what tuned libraries choose to first order.
Tile choose_tile(const GemmSpec& spec, const machine::GpuSpec& gpu);

void append_gemm(builder::Builder& build, const GemmSpec& spec);
void append_gemm(builder::Builder& build, const GemmSpec& spec, const std::string& name);

}  // namespace moire::models::kernel
