// Makes the kernels of a codec. Their speed is not a parameter; it follows from the work of a workgroup and from the
// GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/codec/spec.hpp"

namespace moire::codec {

// What a call of a codec does. decompress_reduce: decompresses, adds the rank's own data and stores the sum.
// decompress_reduce_compress: does the same in one kernel, but compresses the sum before the kernel stores it.
enum class Work { compress, decompress, decompress_reduce, decompress_reduce_compress };

// The data of one rank in a call.
struct Part {
  double bytes = 0;  // uncompressed
  double ratio = 1;  // uncompressed / compressed bytes
  bool operator==(const Part&) const = default;
};

// The kernels of a call, in order: small preparing kernels, if there are any, and the codec's main kernel. `parts` has
// one entry per rank, or a single one for all ranks. A rank whose part is empty has no workgroups.
std::vector<program::Kernel> make_kernels(const builder::Builder& build, const CodecSpec& codec, Work work,
                                          const std::vector<Part>& parts, const std::string& name);

// The kernels of make_kernels() as operations. If the codec has decompress_on: engine, a pure decompression is one
// command of the GPU's decompression engine instead.
std::vector<program::Operation> make_operations(const builder::Builder& build, const CodecSpec& codec, Work work,
                                                const std::vector<Part>& parts, const std::string& name);

// How a workgroup of another kernel, such as a collective's, does a codec's work on its own CU. It acts as N workgroups
// of the codec side by side, where N is as many as its threads and the CU's LDS allow, but at least one.
struct Inside {
  program::PhaseShape shape;              // demands of one unit of work: one block of each of the N workgroups
  double unit = 0;                        // plain bytes of a unit; a part of a unit takes as long as a whole unit
  Time prepare;                           // time of the codec's small kernels, once for each call
  program::WorkgroupResources resources;  // of a workgroup of the other kernel with the codec compiled into it
};
Inside inside(const CodecSpec& codec, Work work, double ratio, const machine::GpuSpec& gpu,
              const program::WorkgroupResources& kernel);

// Returns why the GPU's decompression engine cannot decompress chunks of `bytes` bytes. Returns nothing if it can, or
// if the codec does not use the engine.
std::optional<config::Problem> engine_refuses(const CodecSpec& codec, double bytes, const machine::GpuSpec& gpu);

// Compressed size of a part, rounded up to whole bytes.
Bytes compressed(const Part& part);
// Estimated time of a call alone on the GPU, without its launches. Only choices use it, such as the choice of a number
// of chunks; the simulation does not.
double seconds(const CodecSpec& codec, Work work, const Part& part, const machine::GpuSpec& gpu);

// Bytes of memory that a part needs on a rank: uncompressed and compressed data, and the workspaces of `streams`
// streams.
double memory_of(const CodecSpec& codec, const Part& part, std::int64_t streams);

}  // namespace moire::codec
