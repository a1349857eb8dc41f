#include "models/workload/codec/spec.hpp"

#include <algorithm>
#include <functional>

#include "models/hardware/perturb/distribution.hpp"
#include "sim/config/spec.hpp"

namespace moire::codec {

void StageSpec::describe(config::Describer<StageSpec>& d) {
  d.component("codec_stage", "A kernel of a codec: what a workgroup holds, moves and does.");
  d.sourced();
  d.field("threads", &StageSpec::threads, "Threads of a workgroup").range(1, 1024);
  d.field("registers_per_thread", &StageSpec::registers_per_thread, "Registers of a thread").range(1, 1024);
  d.field("lds", &StageSpec::lds, "LDS of a workgroup").or_default();
  d.field("block", &StageSpec::block, "Plain bytes of a workgroup; a part of a block takes what a whole one does")
      .positive();
  d.field(
       "bits", &StageSpec::bits,
       "Bits of a value's code for which operations and l2_adds have an entry each, ascending; linear in between, and "
       "constant beyond. Without bits there is one entry for all codes")
      .range(0.1, 64)
      .example("[4, 8, 16]")
      .or_default();
  d.field("operations", &StageSpec::operations,
          "Instructions of a lane for each value; one counts as two FLOP of vector_fp32")
      .range(0, 1e6)
      .range(0, 1e6)
      .example("[400]");
  d.field("l2_adds", &StageSpec::l2_adds, "Sectors of 32 B for each value to which the kernel adds in the L2 (atomics)")
      .range(0, 1e3)
      .example("[1.5]")
      .or_default();
  d.field("cycles", &StageSpec::cycles, "Clocks from an operation of a thread to its next one, which waits for it")
      .range(0, 1000);
  d.field("extra_read", &StageSpec::extra_read,
          "Bytes read for each plain byte, beside the data: workspace, what another workgroup left")
      .range(0, 100)
      .or_default();
  d.field("extra_write", &StageSpec::extra_write, "The same of bytes written: an output cleared before it is filled")
      .range(0, 100)
      .or_default();
  d.field("prepare", &StageSpec::prepare,
          "Time of the small kernels that a call runs before, one after the other: clearing the output, statistics, "
          "prefix sums")
      .or_default();
  d.check([](const StageSpec& s) -> std::optional<config::Problem> {
    const std::size_t entries = std::max<std::size_t>(1, s.bits.size());
    if (s.operations.size() != entries || (!s.l2_adds.empty() && s.l2_adds.size() != entries))
      return config::Problem{"operations and l2_adds do not have one entry for each of bits",
                             "write as many numbers, one without bits"};
    if (!std::is_sorted(s.bits.begin(), s.bits.end(), std::less_equal<>()))
      return config::Problem{"bits do not ascend", "sort the entries"};
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
  d.component("codec", "A compressor that runs on the GPU: a file of configs/codecs.");
  d.sourced();
  d.field("name", &CodecSpec::name, "Codec, version and setting");
  d.field("kind", &CodecSpec::kind,
          "fixed_rate: so many bits for every value, lossy (ZFP); lossless: differences and transposed bits of floats "
          "(MPC); entropy: variable codes of bytes or exponents (ANS)")
      .choices({{"fixed_rate", Kind::fixed_rate}, {"lossless", Kind::lossless}, {"entropy", Kind::entropy}});
  d.field("value_bits", &CodecSpec::value_bits, "Bits of a plain value: 32 of fp32, 16 of bf16").range(8, 64);
  d.field("ratio", &CodecSpec::ratio, "Plain bytes over compressed bytes").range(0.5, 64);
  d.field("ratio_spread", &CodecSpec::ratio_spread,
          "The ratio of a chunk lies evenly between ratio x (1 - this) and ratio x (1 + this)")
      .range(0, 0.9)
      .or_default();
  d.field("seed", &CodecSpec::seed, "Of the draw of ratios: the same seed, the same ratios")
      .range(0, 1 << 30)
      .or_default();
  d.field("ratios", &CodecSpec::ratios, "Ratios as they were recorded, chunk by chunk and then again; instead of ratio")
      .range(0.5, 64)
      .example("[1.31, 1.28, 1.44]")
      .or_default();
  d.field("error_bound", &CodecSpec::error_bound,
          "Of a lossy codec: largest error of one pass over the largest value, as its authors state it")
      .range(0, 1)
      .optional();
  d.field("compress", &CodecSpec::compress, "The kernel that compresses");
  d.field("decompress", &CodecSpec::decompress, "The kernel that decompresses");
  d.field("workspace", &CodecSpec::workspace,
          "Memory of one stream for each plain byte that it works on, beside the data")
      .range(0, 100)
      .or_default();
  d.field("call", &CodecSpec::call, "Host time of a call, beside putting its kernel into a queue").or_default();
  d.field("to_host", &CodecSpec::to_host,
          "From the end of a kernel to the host that has seen it and knows the compressed size: a copy of the size and "
          "a synchronisation, or a flag in host memory")
      .or_default();
  d.field("streams", &CodecSpec::streams, "Most kernels that run side by side on a GPU, each with a workspace")
      .range(1, 64)
      .or_default();
  d.check([](const CodecSpec& s) -> std::optional<config::Problem> {
    const bool lossy = s.kind == Kind::fixed_rate;
    if (lossy && (s.ratio_spread > 0 || !s.ratios.empty()))
      return config::Problem{"a fixed rate has one ratio", "leave ratio_spread and ratios out"};
    if (lossy && !s.error_bound)
      return config::Problem{"a fixed rate loses digits, and how many is not said", "write error_bound"};
    if (!lossy && s.error_bound)
      return config::Problem{"error_bound stands beside a codec without loss", "leave it out"};
    if (s.ratio_spread > 0 && !s.ratios.empty())
      return config::Problem{"ratios are recorded or drawn", "leave ratio_spread or ratios out"};
    return std::nullopt;
  });
}

double CodecSpec::ratio_of(std::int64_t chunk) const {
  if (!ratios.empty()) return ratios[static_cast<std::size_t>(chunk) % ratios.size()];
  if (ratio_spread == 0) return ratio;
  const double drawn = perturb::uniform_of(static_cast<std::uint64_t>(seed), 0, 0, static_cast<std::uint64_t>(chunk));
  return ratio * (1 + ratio_spread * (2 * drawn - 1));
}

double CodecSpec::error_after(std::int64_t passes) const {
  double largest = 1;
  for (std::int64_t pass = 0; pass < passes; ++pass) largest *= 1 + error_bound.value_or(0);
  return largest - 1;
}

}  // namespace moire::codec
