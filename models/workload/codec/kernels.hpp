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

// Returns the kernels of a call, in order: one kernel that stands for all small preparing kernels, if the codec has
// any, and the codec's main kernel. `parts` has one entry per rank, or a single entry for all ranks. A rank whose part
// has no bytes has no workgroups.
std::vector<program::Kernel> make_kernels(const builder::Builder& build, const CodecSpec& codec, Work work,
                                          const std::vector<Part>& parts, const std::string& name);

// Returns the kernels of make_kernels() as operations. If the codec has `decompress_on: engine` and `work` is
// decompress, returns one command of the GPU's decompression engine instead.
std::vector<program::Operation> make_operations(const builder::Builder& build, const CodecSpec& codec, Work work,
                                                const std::vector<Part>& parts, const std::string& name);

// How a workgroup of another kernel, such as a collective's, does a codec's work on its own CU. The workgroup acts as N
// workgroups of the codec that run side by side. N is the largest number for which the workgroup's threads and the CU's
// LDS suffice, but at least one.
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

// Returns the compressed size of a part, rounded up to whole bytes.
Bytes compressed(const Part& part);
// Returns the estimated time in seconds of a call that runs alone on the GPU, without the launches of its kernels. Only
// choices use it, such as the choice of a number of chunks; the simulation does not.
double seconds(const CodecSpec& codec, Work work, const Part& part, const machine::GpuSpec& gpu);

// Returns the number of kernels of a call, or 1 if the decompression engine executes it.
std::int64_t kernels(const CodecSpec& codec, Work work);

// Returns the bytes of memory that a part needs on a rank: its uncompressed and compressed data, and the workspaces of
// `streams` streams.
double memory_of(const CodecSpec& codec, const Part& part, std::int64_t streams);

}  // namespace moire::codec
