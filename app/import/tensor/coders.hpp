// Codecs that show how far a chunk of floating-point values shrinks: those of Debian's libraries, and the entropy of
// the exponents, which an ANS coder nearly reaches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/import/tensor/tensor_file.hpp"

namespace moire::importing {

struct Coded {
  double bytes = 0;
  double error = 0;    // largest difference between a value and its decoded value; 0 for lossless codecs
  double largest = 0;  // largest absolute value
};

class Coder {
 public:
  virtual ~Coder() = default;
  virtual std::string name() const = 0;
  virtual std::string meaning() const = 0;  // explains the ratio of this codec in a footnote
  virtual bool fits(Float values) const = 0;
  virtual std::string takes() const = 0;  // the types of values that it accepts, in words
  // The ratio of all chunks, if it does not depend on their content.
  virtual std::optional<double> fixed_ratio(Float) const { return std::nullopt; }
  // Returns nothing if the codec cannot represent some value of the chunk. A chunk has at least one value, and no
  // partial ones.
  virtual std::optional<Coded> code(Float values, std::span<const char> chunk) = 0;
};

inline const std::vector<std::string> coder_names = {"zfp", "ans", "zstd", "lz4"};
// All codecs, in the order of coder_names. `rate` is zfp's number of bits per value.
std::vector<std::unique_ptr<Coder>> make_coders(double rate);
// A block of zfp has four values, so rates are multiples of a quarter bit, and a block is at least as long as an
// exponent.
bool is_zfp_rate(double rate, Float values);

}  // namespace moire::importing
