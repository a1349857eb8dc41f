// Operators that run only the kernels of a codec, to show how their time depends on the size of the data.
#include "models/workload/codec/operators.hpp"

#include <fmt/format.h>

#include "models/workload/codec/kernels.hpp"

namespace moire::codec {

namespace {

struct AloneSpec {
  Bytes bytes;
  std::int64_t chunks = 1;
  CodecSpec codec;

  // Returns the size and the ratio of a chunk. All chunks have the same whole number of bytes, except that the last
  // ones may be shorter or empty.
  Part part(std::int64_t chunk) const {
    const double each = std::ceil(bytes.value / static_cast<double>(chunks));
    return {std::clamp(bytes.value - each * static_cast<double>(chunk), 0.0, each), codec.ratio_of(chunk)};
  }
};
struct CompressSpec : AloneSpec {
  static void describe(config::Describer<CompressSpec>& d);
};
struct DecompressSpec : AloneSpec {
  static void describe(config::Describer<DecompressSpec>& d);
};
struct FusedSpec : AloneSpec {
  static void describe(config::Describer<FusedSpec>& d);
};

template <class Spec>
void describe_alone(config::Describer<Spec>& d, const char* name, const char* meaning) {
  d.component(name, meaning);
  d.field("bytes", &Spec::bytes, "Plain bytes of every rank").positive().example("64 MiB");
  d.field("chunks", &Spec::chunks, "Number of kernels that run one after the other, each on a part of the bytes")
      .range(1, 1024)
      .or_default();
  d.field("codec", &Spec::codec, "The codec, a file in configs/codecs").example("../codecs/zfp.yaml");
}

void CompressSpec::describe(config::Describer<CompressSpec>& d) {
  describe_alone(d, "compress", "Every rank compresses data in its memory.");
}
void DecompressSpec::describe(config::Describer<DecompressSpec>& d) {
  describe_alone(d, "decompress", "Every rank decompresses data in its memory.");
}
void FusedSpec::describe(config::Describer<FusedSpec>& d) {
  describe_alone(d, "decompress_reduce_compress",
                 "Every rank decompresses received data, adds its own data and compresses the sum, in one kernel: a "
                 "step of a compressed reduction.");
}

template <class Spec, Work work>
void append(builder::Builder& build, const Spec& spec, const char* name) {
  const std::string own = build.unique(name);
  for (std::int64_t chunk = 0; chunk < spec.chunks; ++chunk) {
    const Part part = spec.part(chunk);
    if (part.bytes <= 0) break;
    for (program::Operation& operation : make_operations(build, spec.codec, work, {part}, own))
      build.queue.operations.push_back(std::move(operation));
  }
}

template <class Spec, Work work>
std::optional<config::Problem> check(const Spec& spec, const libraries::EquippedSystem& system) {
  if (work == Work::decompress)
    if (auto problem = engine_refuses(spec.codec, spec.part(0).bytes, system.node.gpu)) return problem;
  double bytes = 0;
  for (std::int64_t chunk = 0; chunk < spec.chunks; ++chunk) bytes += memory_of(spec.codec, spec.part(chunk), 1);
  const double memory = system.node.gpu.hbm.capacity.value;
  if (bytes <= memory) return std::nullopt;
  return config::Problem{
      fmt::format("plain data, compressed data and workspace of {:.4g} GB do not fit into the memory of {:.4g} GB",
                  bytes * 1e-9, memory * 1e-9),
      "use fewer bytes"};
}

}  // namespace

builder::Operator compress_operator() {
  return builder::make_operator<CompressSpec>(
      "compress",
      [](builder::Builder& build, const CompressSpec& spec) {
        append<CompressSpec, Work::compress>(build, spec, "compress");
      },
      check<CompressSpec, Work::compress>);
}
builder::Operator decompress_operator() {
  return builder::make_operator<DecompressSpec>(
      "decompress",
      [](builder::Builder& build, const DecompressSpec& spec) {
        append<DecompressSpec, Work::decompress>(build, spec, "decompress");
      },
      check<DecompressSpec, Work::decompress>);
}
builder::Operator decompress_reduce_compress_operator() {
  return builder::make_operator<FusedSpec>(
      "decompress_reduce_compress",
      [](builder::Builder& build, const FusedSpec& spec) {
        append<FusedSpec, Work::decompress_reduce_compress>(build, spec, "decompress_reduce_compress");
      },
      check<FusedSpec, Work::decompress_reduce_compress>);
}

}  // namespace moire::codec
