// A compressor that runs on the GPU: the work of its kernels, and its compression ratio. A file of configs/codecs.
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

// fixed_rate: the same number of bits for every value, lossy (ZFP). lossless: differences and transposed bits of floats
// (MPC). entropy: variable-length codes for exponents or bytes (ANS).
enum class Kind { fixed_rate, lossless, entropy };

// Where the decompression runs: as a kernel on CUs, or on the GPU's decompression engine.
enum class Runs { kernel, engine };

// One direction: compress or decompress. "Plain" means uncompressed.
struct StageSpec {
  std::int64_t threads = 128;  // of a workgroup
  std::int64_t registers_per_thread = 32;
  Bytes lds;
  Bytes block{4096};  // plain bytes per workgroup
  // Bits per coded value at which the next two lists were measured, ascending. Empty: they have one entry, which holds
  // for every code.
  std::vector<double> bits;
  std::vector<double> operations{0};  // instructions of a thread per value
  std::vector<double> l2_adds;        // sectors of 32 B per value to which the kernel adds in the L2 (atomics)
  double cycles = 6;                  // latency: clocks from one operation of a thread until its next one can start
  double extra_read = 0;              // bytes of workspace read and written per plain byte
  double extra_write = 0;
  // small kernels that run before it, one after the other: clear the output, take statistics, compute prefix sums
  Time prepare;
  // Value for a code with this many bits per value: linear between the entries, constant beyond them.
  double operations_at(double code_bits) const;
  double l2_adds_at(double code_bits) const;
  static void describe(config::Describer<StageSpec>& d);
};

struct CodecSpec {
  std::string name;
  Kind kind = Kind::fixed_rate;
  std::int64_t value_bits = 32;
  double ratio = 1;                   // plain / compressed bytes
  double ratio_spread = 0;            // ratios of chunks are uniform in ratio x [1 - spread, 1 + spread]
  std::int64_t seed = 1;              // of the random ratios
  std::vector<double> ratios;         // recorded ratios of successive chunks, repeated cyclically; replaces both
  std::optional<double> error_bound;  // error of one pass / largest value
  StageSpec compress;
  StageSpec decompress;
  std::optional<std::string> format;  // its name in a decompression engine's `formats`
  Runs decompress_on = Runs::kernel;
  double workspace = 0;  // bytes per stream and plain byte
  Time call;             // host time per call, in addition to the launch of the kernel
  Time to_host;          // from the end of a kernel until the host knows that it ended, and the compressed size
  std::int64_t streams = 1;
  static void describe(config::Describer<CodecSpec>& d);

  double ratio_of(std::int64_t chunk) const;
  double mean_ratio() const;  // plain over compressed bytes of many chunks
  // Largest relative error (error / largest value) after `passes` passes.
  double error_after(std::int64_t passes) const;
};

}  // namespace moire::codec
