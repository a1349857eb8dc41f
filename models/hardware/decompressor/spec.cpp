#include "models/hardware/decompressor/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::decompressor {

void DecompressorSpec::describe(config::Describer<DecompressorSpec>& d) {
  d.component("decompressor", "Decompression engine of one GPU: a fixed-function unit that takes no compute units.");
  d.field("engines", &DecompressorSpec::engines, "Buffers that are decompressed at the same time").range(1, 1024);
  d.field("bandwidth", &DecompressorSpec::bandwidth, "Decompressed bytes per second that one engine writes").positive();
  d.field("largest", &DecompressorSpec::largest, "Largest buffer that an engine takes, in decompressed bytes")
      .positive();
  d.field("command", &DecompressorSpec::command,
          "Time from the moment at which an engine takes a buffer until its first byte moves");
  d.field("formats", &DecompressorSpec::formats,
          "Formats that an engine can read, named as in the key format of a codec")
      .example("[lz4, snappy, deflate]");
  d.field("bytes_in_flight", &DecompressorSpec::bytes_in_flight,
          "Bytes that an engine keeps requested; this is its weight against other traffic")
      .positive()
      .fractional();
  d.check("formats", [](const DecompressorSpec& spec) -> std::optional<config::Problem> {
    if (!spec.formats.empty()) return std::nullopt;
    return config::Problem{"the engine reads no format", "list at least one format, or remove the decompressor"};
  });
}

}  // namespace moire::decompressor
