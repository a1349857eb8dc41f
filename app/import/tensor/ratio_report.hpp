// What is told of measured ratios: the table, and the file that a codec replays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/import/importer.hpp"
#include "app/import/tensor/coders.hpp"

namespace moire::importing {

// One codec, and what it made of the chunks.
struct RatioRow {
  std::unique_ptr<Coder> coder;
  std::vector<double> ratios = {};       // plain over coded bytes, chunk by chunk
  double plain = 0, coded = 0;           // bytes in all
  double error = 0;                      // largest of all values
  double relative = 0;                   // largest of a chunk's error over its largest value
  std::uint64_t without_code = 0;        // chunks with values that are not finite
  std::uint64_t first_without_code = 0;  // offset of the first one

  void add(double bytes, const Coded& chunk);
};

struct RatioReport {
  std::string file;
  std::uint64_t chunk = 0;
  std::vector<Tensor> tensors;
  std::vector<RatioRow> rows = {};

  // `list`: the ratios of the only row become a file.
  Imported made(bool list) const;
};

}  // namespace moire::importing
