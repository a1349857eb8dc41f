// Returns the YAML of a codec for tests. A YAML file that contains it must begin with `codec_sources`, which defines
// the source `s` that its values name. The only cost of the codec's kernels is their operations.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace moire::codec {

inline constexpr const char* codec_sources = "sources: {s: a test}\n";

// `ratio`: uncompressed over compressed bytes. `operations`: number per value. `cycles`: clock cycles from one
// operation of a thread to the next operation of this thread. `call_us`: time of a call, in us. `to_host_us`: time
// until the host knows that a kernel has ended, in us.
inline std::string example_codec(double ratio, double operations = 0, double cycles = 0, double call_us = 0,
                                 double to_host_us = 0) {
  const std::string stage = fmt::format(
      "{{threads: {{value: 128, source: s}}, registers_per_thread: {{value: 32, source: s}}, block: {{value: 2 KiB, "
      "source: s}}, operations: {{value: [{}], source: s}}, cycles: {{value: {}, source: s}}}}",
      operations, cycles);
  return fmt::format(
      "name: example\n"
      "kind: fixed_rate\n"
      "value_bits: {{value: 32, source: s}}\n"
      "ratio: {{value: {}, source: s}}\n"
      "error_bound: {{value: 0.001, source: s}}\n"
      "compress: {}\n"
      "decompress: {}\n"
      "call: {{value: {} us, source: s}}\n"
      "to_host: {{value: {} us, source: s}}\n"
      "streams: {{value: 8, source: s}}\n",
      ratio, stage, stage, call_us, to_host_us);
}

// Returns the lines of a YAML map as one line in braces (YAML flow style).
inline std::string flow(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ',');
  return "{" + text + "}";
}

}  // namespace moire::codec
