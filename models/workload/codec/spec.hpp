// Describes a codec, a compressor that runs on the GPU: the work of its kernels, and its compression ratio. Each file
// of configs/codecs is one CodecSpec.
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

// fixed_rate: a lossy codec that codes every value with the same number of bits (ZFP). lossless: a codec that takes
// differences of floats and transposes their bits (MPC). entropy: a codec that gives exponents or bytes codes of
// variable length (ANS).
enum class Kind { fixed_rate, lossless, entropy };

// Where decompression runs: as a kernel on CUs, or on the GPU's decompression engine.
enum class Runs { kernel, engine };

// Describes the kernel that compresses, or the kernel that decompresses. "Plain" data are uncompressed, "coded" data
// are compressed.
struct StageSpec {
  std::int64_t threads = 128;  // of a workgroup
  std::int64_t registers_per_thread = 32;
  Bytes lds;
  Bytes block{4096};  // plain bytes per workgroup
  // Lengths of codes, in bits per value and in ascending order. `operations` and `l2_adds` have one entry for each
  // length. If `bits` is empty, they have a single entry, which holds for codes of any length.
  std::vector<double> bits;
  std::vector<double> operations{0};  // instructions of a thread per value
  std::vector<double> l2_adds;        // sectors of 32 B per value to which the kernel adds in the L2 (atomics)
  double cycles = 6;                  // clock cycles from one operation of a thread until its next operation can start
  double extra_read = 0;              // bytes read per plain byte, in addition to the data
  double extra_write = 0;             // bytes written per plain byte, in addition to the data
  // Total time of the small kernels that run one after the other before this kernel. They clear the output, take
  // statistics or compute prefix sums.
  Time prepare;
  Time start_up;  // from a workgroup's start until its first load: the CU fetches the kernel's instructions
  // Return the operations and the L2 additions per value of a code with this many bits per value. They are interpolated
  // linearly between two entries of `bits`, and constant below the first and above the last.
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
  std::vector<double> ratios;         // recorded ratios of successive chunks, repeated; replace ratio and ratio_spread
  std::optional<double> error_bound;  // largest error of one pass / largest value
  StageSpec compress;
  StageSpec decompress;
  std::optional<std::string> format;  // of the compressed data, as named in a decompression engine's `formats`
  Runs decompress_on = Runs::kernel;
  double workspace = 0;  // bytes per stream and plain byte
  Time call;             // host time per call, in addition to the launch of the kernel
  Time to_host;          // from the end of a kernel until the host knows that it has ended, and the compressed size
  std::int64_t streams = 1;
  static void describe(config::Describer<CodecSpec>& d);

  double ratio_of(std::int64_t chunk) const;
  double mean_ratio() const;  // plain over compressed bytes of many chunks
  // Returns the bound of the error after `passes` passes, as a fraction of the largest value.
  double error_after(std::int64_t passes) const;
};

}  // namespace moire::codec
