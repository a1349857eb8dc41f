// The decompression engine of one GPU: a fixed-function unit that decompresses without using CUs.
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
  BytesPerSecond bandwidth;          // of one engine, in decompressed bytes
  Bytes largest;                     // largest buffer, in decompressed bytes
  Time command;                      // from the moment at which an engine takes a buffer until its first byte moves
  std::vector<std::string> formats;  // formats that the engine decompresses
  Bytes bytes_in_flight;
  static void describe(config::Describer<DecompressorSpec>& d);
};

}  // namespace moire::decompressor
