// Reads a GPU that Moire ships, with its GEMM library.
#pragma once

#include <gtest/gtest.h>

#include "models/workload/libraries/software.hpp"
#include "sim/config/config.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::support {

// `name`: the file in configs/hardware, without .yaml.
inline libraries::EquippedGpu shipped_gpu(const std::string& name) {
  config::Diagnostics diagnostics;
  const auto tree = config::load(source_dir() + "/configs/hardware/" + name + ".yaml", {}, diagnostics);
  const auto gpu = libraries::read_gpu(*tree, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.str();
  return *gpu;
}

}  // namespace moire::support
