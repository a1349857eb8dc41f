// Element-wise kernels: every workgroup reads and writes its blocks of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"

namespace moire::kernel {

// A workgroup a block; or as many workgroups as the GPU holds, which walk over the blocks in equal steps.
enum class StreamSchedule { workgroup_a_block, grid_stride };

struct StreamSpec {
  Bytes read{};
  Bytes write{};
  // Instead of the two: arrays in, and one out, of so many bytes each
  std::int64_t inputs = 1;
  Bytes bytes{};
  StreamSchedule schedule = StreamSchedule::workgroup_a_block;
  std::optional<Bytes> block{};      // read plus written by a workgroup
  std::optional<Bytes> in_flight{};  // loads of a workgroup
  static void describe(config::Describer<StreamSpec>& d);

  Bytes all_read() const { return bytes.value > 0 ? Bytes{bytes.value * static_cast<double>(inputs)} : read; }
  Bytes all_written() const { return bytes.value > 0 ? bytes : write; }
};

void append_stream(builder::Builder& build, const StreamSpec& spec);
void append_stream(builder::Builder& build, const StreamSpec& spec, const std::string& name);

}  // namespace moire::kernel
