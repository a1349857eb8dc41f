// A compressor that runs on the GPU: what its kernels take, and by how much they shrink what they are given. A file of
// configs/codecs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::codec {

// fixed_rate: so many bits for every value, with a loss (ZFP). lossless: differences and transposed bits of floats
// (MPC). entropy: variable codes for exponents or bytes (ANS).
enum class Kind { fixed_rate, lossless, entropy };

// One direction: compress or decompress. "Plain" is what is not compressed.
struct StageSpec {
  std::int64_t threads = 128;  // of a workgroup
  std::int64_t registers_per_thread = 32;
  Bytes lds;
  Bytes block{4096};              // plain bytes of a workgroup
  double operations = 0;          // vector operations for each value
  double operations_per_bit = 0;  // and for each bit of its code
  double cycles = 6;              // from an operation of a thread to its next one
  double extra_read = 0;          // bytes of workspace read and written, for each plain byte
  double extra_write = 0;
  static void describe(config::Describer<StageSpec>& d);
};

struct CodecSpec {
  std::string name;
  Kind kind = Kind::fixed_rate;
  std::int64_t value_bits = 32;
  double ratio = 1;                   // plain bytes over compressed ones
  double ratio_spread = 0;            // of chunks: evenly between ratio x (1 - spread) and ratio x (1 + spread)
  std::int64_t seed = 1;              // of the draw
  std::vector<double> ratios;         // as recorded, chunk by chunk and again; instead of ratio
  std::optional<double> error_bound;  // of one pass, over the largest value
  StageSpec compress;
  StageSpec decompress;
  double workspace = 0;  // bytes kept for each plain byte of a stream
  Time call;             // of the host, beside the launch of the kernel
  Time to_host;          // from the end of a kernel to the host that knows of it and of the size
  std::int64_t streams = 1;
  static void describe(config::Describer<CodecSpec>& d);

  double ratio_of(std::int64_t chunk) const;
  // Largest error over the largest value, after so many passes.
  double error_after(std::int64_t passes) const;
};

}  // namespace moire::codec
