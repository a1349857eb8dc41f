// The kernels of a codec. Its speed follows from what a workgroup does and from the GPU that it runs on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/codec/spec.hpp"

namespace moire::codec {

// decompress_reduce_compress: decompress, add to what the rank has, and compress the sum, without a way through memory.
enum class Work { compress, decompress, decompress_reduce_compress };

struct Part {
  double bytes = 0;  // plain
  double ratio = 1;
  bool operator==(const Part&) const = default;
};

// `parts`: of each rank, or one for all of them, who then do it each by itself. A rank without bytes has no workgroup.
program::Kernel make_kernel(const builder::Builder& build, const CodecSpec& codec, Work work,
                            const std::vector<Part>& parts, const std::string& name);

// Whole bytes that a part is compressed to.
Bytes compressed(const Part& part);
// What a kernel takes alone on the GPU, without launch: an estimate to choose by, not what is simulated.
double seconds(const CodecSpec& codec, Work work, const Part& part, const machine::GpuSpec& gpu);

// Memory that a part takes at a rank: plain, compressed, workspaces.
double memory_of(const CodecSpec& codec, const Part& part, std::int64_t streams);

}  // namespace moire::codec
