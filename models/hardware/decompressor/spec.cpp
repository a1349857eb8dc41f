#include "models/hardware/decompressor/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::decompressor {

void DecompressorSpec::describe(config::Describer<DecompressorSpec>& d) {
  d.component("decompressor", "Decompression engine of one GPU: fixed function, takes no compute units.");
  d.field("engines", &DecompressorSpec::engines, "Buffers that are decompressed at the same time").range(1, 1024);
  d.field("bandwidth", &DecompressorSpec::bandwidth, "Plain bytes that one engine writes").positive();
  d.field("largest", &DecompressorSpec::largest, "Largest buffer that it takes, in plain bytes").positive();
  d.field("command", &DecompressorSpec::command, "From a buffer's turn at an engine to its first byte");
  d.field("formats", &DecompressorSpec::formats, "Formats that it reads, as a codec names its own")
      .example("[lz4, snappy, deflate]");
  d.field("bytes_in_flight", &DecompressorSpec::bytes_in_flight,
          "Bytes an engine keeps requested; its weight against other traffic")
      .positive()
      .fractional();
  d.check("formats", [](const DecompressorSpec& spec) -> std::optional<config::Problem> {
    if (!spec.formats.empty()) return std::nullopt;
    return config::Problem{"the engine reads no format", "name one at least, or remove the decompressor"};
  });
}

}  // namespace moire::decompressor
