// Codecs that measure how much a chunk of floating-point values can be compressed. zfp, zstd and lz4 are libraries of
// Debian. `ans` only estimates the size from the entropy of the exponents, which a coder with asymmetric numeral
// systems (ANS) nearly reaches.
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
  double bytes = 0;    // compressed size
  double error = 0;    // largest difference between a value and its decoded value; 0 for lossless codecs
  double largest = 0;  // largest absolute value
};

class Coder {
 public:
  virtual ~Coder() = default;
  virtual std::string name() const = 0;
  virtual std::string meaning() const = 0;  // returns a footnote that explains the ratio of this codec
  virtual bool fits(Float values) const = 0;
  virtual std::string takes() const = 0;  // returns the types of values that fits() accepts, in words
  // Returns the ratio of all chunks, if the ratio does not depend on the content of the chunks.
  virtual std::optional<double> fixed_ratio(Float) const { return std::nullopt; }
  // Compresses a chunk, which consists of one or more whole values, and returns its size and error. Returns nothing if
  // the codec cannot represent some value of the chunk.
  virtual std::optional<Coded> code(Float values, std::span<const char> chunk) = 0;
};

inline const std::vector<std::string> coder_names = {"zfp", "ans", "zstd", "lz4"};
// Returns all codecs, in the order of coder_names. `rate` is zfp's number of bits per value.
std::vector<std::unique_ptr<Coder>> make_coders(double rate);
// True if zfp has this rate in bits per value. zfp compresses blocks of four values to a whole number of bits, so rates
// are multiples of a quarter bit. A block must also have enough bits for its exponent.
bool is_zfp_rate(double rate, Float values);

}  // namespace moire::importing
