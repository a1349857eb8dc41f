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

// The kernels of a call, in order: small preparing kernels, if there are any, and the codec's main kernel. `parts` has
// one entry per rank, or a single one for all ranks. A rank whose part is empty has no workgroups.
std::vector<program::Kernel> make_kernels(const builder::Builder& build, const CodecSpec& codec, Work work,
                                          const std::vector<Part>& parts, const std::string& name);

// The same as operations. If the codec says so, a decompression is one command of the decompression engine.
std::vector<program::Operation> make_operations(const builder::Builder& build, const CodecSpec& codec, Work work,
                                                const std::vector<Part>& parts, const std::string& name);

// How a workgroup of another kernel does a codec's work, on its own CU: as many of the codec's workgroups side by side
// as its threads hold, at least one.
struct Inside {
  program::PhaseShape shape;              // one unit of work: a block of each of these workgroups
  double unit = 0;                        // its plain bytes; a part of a unit takes as long as a whole one
  Time prepare;                           // of a call: the work of the codec's small kernels
  program::WorkgroupResources resources;  // what the other kernel takes with the codec compiled into it
};
Inside inside(const CodecSpec& codec, Work work, double ratio, const machine::GpuSpec& gpu,
              const program::WorkgroupResources& kernel);

// If the codec uses the GPU's decompression engine: why this engine cannot decompress chunks of `bytes` bytes.
std::optional<config::Problem> engine_refuses(const CodecSpec& codec, double bytes, const machine::GpuSpec& gpu);

// Compressed size of a part, rounded up to whole bytes.
Bytes compressed(const Part& part);
// Estimated time of a call alone on the GPU, without its launches. Used for choices only, not in the simulation.
double seconds(const CodecSpec& codec, Work work, const Part& part, const machine::GpuSpec& gpu);

// Bytes of memory that a part needs on a rank: uncompressed and compressed data, and the workspaces of `streams`.
double memory_of(const CodecSpec& codec, const Part& part, std::int64_t streams);

}  // namespace moire::codec
