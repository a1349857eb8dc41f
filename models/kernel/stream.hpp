// Element-wise kernels: every workgroup reads and writes its block of memory.
#pragma once

#include <cstdint>
#include <string>

#include "models/builder/builder.hpp"

namespace moire::models::kernel {

struct StreamSpec {
  Bytes read;
  Bytes write;
  Bytes block{64 * 1024.0};  // read plus written by one workgroup
  Bytes in_flight{16 * 1024.0};
  static void describe(config::Describer<StreamSpec>& d);
};

void append_stream(builder::Builder& build, const StreamSpec& spec);
void append_stream(builder::Builder& build, const StreamSpec& spec, const std::string& name);

}  // namespace moire::models::kernel
