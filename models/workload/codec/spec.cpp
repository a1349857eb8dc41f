#include "models/workload/codec/spec.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/hardware/perturb/distribution.hpp"
#include "sim/config/spec.hpp"

namespace moire::codec {

void StageSpec::describe(config::Describer<StageSpec>& d) {
  d.component("codec_stage",
              "A kernel of a codec: the resources of a workgroup, the data that it moves, and its operations.");
  d.sourced();
  d.field("threads", &StageSpec::threads, "Threads of a workgroup").range(1, 1024);
  d.field("registers_per_thread", &StageSpec::registers_per_thread, "Registers per thread").range(1, 1024);
  d.field("lds", &StageSpec::lds, "LDS of a workgroup").or_default();
  d.field("block", &StageSpec::block,
          "Plain bytes that a workgroup processes; a part of a block takes as long as a whole block")
      .range("1 B", "1 GiB");
  d.field("bits", &StageSpec::bits,
          "Bits per coded value, in ascending order; operations and l2_adds have one entry for each. Between two "
          "entries they are interpolated linearly; below the first and above the last they are constant. Without bits, "
          "both have a single entry for all codes")
      .range(0.1, 64)
      .example("[4, 8, 16]")
      .or_default();
  d.field("operations", &StageSpec::operations, "Instructions per value; each counts as two FLOP of vector_fp32")
      .range(0, 1e6)
      .range(0, 1e6)
      .example("[400]");
  d.field("l2_adds", &StageSpec::l2_adds, "Sectors of 32 B per value to which the kernel adds in the L2 (atomics)")
      .range(0, 1e3)
      .example("[1.5]")
      .or_default();
  d.field("cycles", &StageSpec::cycles,
          "Clock cycles from one operation of a thread to the next one, which depends on it")
      .range(0, 1000);
  d.field("extra_read", &StageSpec::extra_read,
          "Bytes read per plain byte in addition to the data, such as workspace and results of other workgroups")
      .range(0, 100)
      .or_default();
  d.field("extra_write", &StageSpec::extra_write,
          "Bytes written per plain byte in addition to the data, such as an output that is cleared before it is filled")
      .range(0, 100)
      .or_default();
  d.field("prepare", &StageSpec::prepare,
          "Time of the small kernels that a call runs first, one after the other: clearing the output, statistics, "
          "prefix sums")
      .or_default();
  d.field("start_up", &StageSpec::start_up,
          "Time from the start of a workgroup until its first load, in which its CU fetches the kernel's instructions")
      .or_default();
  d.check([](const StageSpec& s) -> std::optional<config::Problem> {
    const std::size_t entries = std::max<std::size_t>(1, s.bits.size());
    if (s.operations.size() != entries || (!s.l2_adds.empty() && s.l2_adds.size() != entries))
      return config::Problem{"operations and l2_adds must have one entry for each entry of bits",
                             "write as many numbers as bits has, or one without bits"};
    if (!std::is_sorted(s.bits.begin(), s.bits.end(), std::less_equal<>()))
      return config::Problem{"bits are not in ascending order", "sort the entries"};
    return std::nullopt;
  });
}

namespace {

double at(const std::vector<double>& bits, const std::vector<double>& values, double code_bits) {
  if (values.empty()) return 0;
  const auto above = std::lower_bound(bits.begin(), bits.end(), code_bits);
  if (bits.empty() || above == bits.begin()) return values.front();
  if (above == bits.end()) return values.back();
  const auto i = static_cast<std::size_t>(above - bits.begin());
  return values[i - 1] + (values[i] - values[i - 1]) * (code_bits - bits[i - 1]) / (bits[i] - bits[i - 1]);
}

}  // namespace

double StageSpec::operations_at(double code_bits) const { return at(bits, operations, code_bits); }
double StageSpec::l2_adds_at(double code_bits) const { return at(bits, l2_adds, code_bits); }

void CodecSpec::describe(config::Describer<CodecSpec>& d) {
  d.component("codec", "A compressor that runs on the GPU: a file in configs/codecs.");
  d.sourced();
  d.field("name", &CodecSpec::name, "Codec, version and setting");
  d.field("kind", &CodecSpec::kind,
          "fixed_rate: the same number of bits for every value, lossy (ZFP); lossless: differences and transposed bits "
          "of floats (MPC), repeated bytes (Snappy); entropy: variable-length codes of bytes or exponents (ANS)")
      .choices({{"fixed_rate", Kind::fixed_rate}, {"lossless", Kind::lossless}, {"entropy", Kind::entropy}});
  d.field("value_bits", &CodecSpec::value_bits, "Bits of a plain value: 32 for fp32, 16 for bf16").range(8, 64);
  d.field("ratio", &CodecSpec::ratio, "Plain bytes over compressed bytes").range(0.5, 64);
  d.field(
       "ratio_spread", &CodecSpec::ratio_spread,
       "The ratio of each chunk is drawn uniformly between ratio x (1 - ratio_spread) and ratio x (1 + ratio_spread)")
      .range(0, 0.9)
      .or_default();
  d.field("seed", &CodecSpec::seed, "Seed for drawing the ratios").range(0, 1 << 30).or_default();
  d.field("ratios", &CodecSpec::ratios,
          "Recorded ratios, used chunk by chunk and then repeated; they replace ratio and ratio_spread. `moire import "
          "tensor` measures them")
      .range(0.5, 64)
      .example("[1.31, 1.28, 1.44]")
      .or_default();
  d.field("error_bound", &CodecSpec::error_bound,
          "For a lossy codec: the largest error of one pass relative to the largest value, as stated by its authors")
      .range(0, 1)
      .optional();
  d.field("compress", &CodecSpec::compress, "The kernel that compresses");
  d.field("decompress", &CodecSpec::decompress, "The kernel that decompresses");
  d.field("format", &CodecSpec::format,
          "Format of the compressed data, as a decompression engine names it: lz4, snappy, deflate. Absent: no engine "
          "reads these data")
      .example("lz4")
      .optional();
  d.field("decompress_on", &CodecSpec::decompress_on,
          "kernel: on CUs; engine: on the GPU's decompression engine, by a command that takes no CUs. A kernel that "
          "also adds or compresses always runs on CUs")
      .choices({{"kernel", Runs::kernel}, {"engine", Runs::engine}})
      .or_default();
  d.field("workspace", &CodecSpec::workspace,
          "Bytes of memory that one stream needs for each plain byte that it processes, in addition to the data")
      .range(0, 100)
      .or_default();
  d.field("call", &CodecSpec::call, "Host time of a call, in addition to enqueueing its kernel").or_default();
  d.field("to_host", &CodecSpec::to_host,
          "Time from the end of a kernel until the host knows the compressed size, through a copy of the size and a "
          "synchronisation, or through a flag in host memory")
      .or_default();
  d.field("streams", &CodecSpec::streams,
          "Largest number of kernels that run at the same time on a GPU, each with a workspace")
      .range(1, 64)
      .or_default();
  d.check([](const CodecSpec& s) -> std::optional<config::Problem> {
    const bool lossy = s.kind == Kind::fixed_rate;
    if (lossy && (s.ratio_spread > 0 || !s.ratios.empty()))
      return config::Problem{"a fixed-rate codec has one ratio", "leave ratio_spread and ratios out"};
    if (lossy && !s.error_bound)
      return config::Problem{"a fixed-rate codec is lossy, but error_bound is missing", "write error_bound"};
    if (s.decompress_on == Runs::engine && !s.format)
      return config::Problem{"no decompression engine reads the output of this codec, which has no format",
                             "write decompress_on: kernel, or take a codec with a format (lz4, snappy, deflate)"};
    if (!lossy && s.error_bound) return config::Problem{"error_bound is given for a lossless codec", "leave it out"};
    return std::nullopt;
  });
}

double CodecSpec::ratio_of(std::int64_t chunk) const {
  if (!ratios.empty()) return ratios[static_cast<std::size_t>(chunk) % ratios.size()];
  if (ratio_spread == 0) return ratio;
  const double drawn = perturb::uniform_of(static_cast<std::uint64_t>(seed), 0, 0, static_cast<std::uint64_t>(chunk));
  return ratio * (1 + ratio_spread * (2 * drawn - 1));
}

double CodecSpec::mean_ratio() const {
  if (!ratios.empty()) {
    double compressed = 0;
    for (const double one : ratios) compressed += 1 / one;
    return static_cast<double>(ratios.size()) / compressed;
  }
  if (ratio_spread == 0) return ratio;
  return ratio * 2 * ratio_spread / std::log((1 + ratio_spread) / (1 - ratio_spread));
}

double CodecSpec::error_after(std::int64_t passes) const {
  double largest = 1;
  for (std::int64_t pass = 0; pass < passes; ++pass) largest *= 1 + error_bound.value_or(0);
  return largest - 1;
}

}  // namespace moire::codec
