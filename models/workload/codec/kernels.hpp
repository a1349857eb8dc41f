// The kernels of a codec. Their speed is not a parameter; it follows from the work of a workgroup and from the GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/codec/spec.hpp"

namespace moire::codec {

// decompress_reduce: decompresses, adds the rank's own data and stores the sum. decompress_reduce_compress: compresses
// the sum, too, without intermediate results in memory.
enum class Work { compress, decompress, decompress_reduce, decompress_reduce_compress };

struct Part {
  double bytes = 0;  // uncompressed
  double ratio = 1;  // uncompressed / compressed bytes
  bool operator==(const Part&) const = default;
};

// The kernels of a call, one after the other: what prepares it, if anything does, and the codec's own. `parts`: one per
// rank, or a single one that all ranks share. A rank whose part is empty has no workgroups.
std::vector<program::Kernel> make_kernels(const builder::Builder& build, const CodecSpec& codec, Work work,
                                          const std::vector<Part>& parts, const std::string& name);

// The same as operations; a decompression is one command of the decompression engine if the codec says so.
std::vector<program::Operation> make_operations(const builder::Builder& build, const CodecSpec& codec, Work work,
                                                const std::vector<Part>& parts, const std::string& name);

// Why the GPU's decompression engine does not take chunks of so many plain bytes, if the codec asks for it.
std::optional<config::Problem> engine_refuses(const CodecSpec& codec, double bytes, const machine::GpuSpec& gpu);

// Compressed size of a part, rounded up to whole bytes.
Bytes compressed(const Part& part);
// Estimated time of a call alone on the GPU, without its launches. Used for choices only, not in the simulation.
double seconds(const CodecSpec& codec, Work work, const Part& part, const machine::GpuSpec& gpu);

// Bytes of memory that a part needs on a rank: uncompressed and compressed data, and the workspaces of `streams`.
double memory_of(const CodecSpec& codec, const Part& part, std::int64_t streams);

}  // namespace moire::codec
