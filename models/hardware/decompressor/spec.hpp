// The decompression engine of one GPU: a block of fixed function that decompresses without compute units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::decompressor {

struct DecompressorSpec {
  std::int64_t engines = 1;          // each decompresses one buffer at a time
  BytesPerSecond bandwidth;          // of one engine, in plain bytes
  Bytes largest;                     // plain bytes of a buffer
  Time command;                      // from a buffer's turn to its first byte
  std::vector<std::string> formats;  // that it reads
  Bytes bytes_in_flight;
  static void describe(config::Describer<DecompressorSpec>& d);
};

}  // namespace moire::decompressor
