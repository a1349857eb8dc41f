// The measured compression ratios of chunks: a table for people, and a file with the list of ratios, which a codec in a
// scenario can use for its chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/import/importer.hpp"
#include "app/import/tensor/coders.hpp"

namespace moire::importing {

// The ratios of one codec.
struct RatioRow {
  std::unique_ptr<Coder> coder;
  std::vector<double> ratios = {};  // uncompressed / compressed bytes of each chunk
  double plain = 0, coded = 0;      // uncompressed and compressed bytes of all chunks
  double error = 0;                 // largest error of a value, over all chunks
  double relative = 0;              // largest value of (a chunk's error / its largest value)
  // number of chunks that the codec cannot represent, because they have values that are not finite
  std::uint64_t without_code = 0;
  std::uint64_t first_without_code = 0;  // offset in the file of the first such chunk

  void add(double bytes, const Coded& chunk);
};

struct RatioReport {
  std::string file;
  std::uint64_t chunk = 0;
  std::vector<Tensor> tensors;
  std::vector<RatioRow> rows = {};

  // Returns the table and the notes. If `list` is true, also returns the YAML of a file with the ratios of the only
  // row.
  Imported made(bool list) const;
};

}  // namespace moire::importing
