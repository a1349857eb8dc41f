// Element-wise kernels, in which every workgroup reads and writes its own blocks of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"

namespace moire::kernel {

// workgroup_a_block: one workgroup per block. grid_stride: n workgroups, as many as the GPU holds, and each of them
// takes every n-th block.
enum class StreamSchedule { workgroup_a_block, grid_stride };

struct StreamSpec {
  Bytes read{};
  Bytes write{};
  // If `bytes` is positive, it replaces read and write: `inputs` arrays are read and one is written, each of `bytes`.
  std::int64_t inputs = 1;
  Bytes bytes{};
  StreamSchedule schedule = StreamSchedule::workgroup_a_block;
  std::optional<Bytes> block{};      // bytes that a workgroup reads and writes at a time
  std::optional<Bytes> in_flight{};  // bytes that a workgroup requests before it waits
  static void describe(config::Describer<StreamSpec>& d);

  Bytes all_read() const { return bytes.value > 0 ? Bytes{bytes.value * static_cast<double>(inputs)} : read; }
  Bytes all_written() const { return bytes.value > 0 ? bytes : write; }
};

program::Kernel stream_kernel(const builder::Builder& build, const StreamSpec& spec, std::string name);
void append_stream(builder::Builder& build, const StreamSpec& spec);
void append_stream(builder::Builder& build, const StreamSpec& spec, const std::string& name);

}  // namespace moire::kernel
