// How small a chunk of floating-point values becomes: coders of Debian's libraries, and the entropy that an ANS coder
// comes close to.
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
  double error = 0;    // largest difference between a value and what is decoded; 0 without loss
  double largest = 0;  // largest absolute value
};

class Coder {
 public:
  virtual ~Coder() = default;
  virtual std::string name() const = 0;
  virtual std::string meaning() const = 0;  // what a ratio of it is, for a footnote
  virtual bool fits(Float values) const = 0;
  virtual std::string takes() const = 0;  // what fits, in words
  // Ratio of all chunks, where content does not change it.
  virtual std::optional<double> fixed_ratio(Float) const { return std::nullopt; }
  // Nothing if the chunk has values for which there is no code. A chunk has whole values, at least one.
  virtual std::optional<Coded> code(Float values, std::span<const char> chunk) = 0;
};

inline const std::vector<std::string> coder_names = {"zfp", "ans", "zstd", "lz4"};
// All of them, in that order; `rate`: bits a value of zfp.
std::vector<std::unique_ptr<Coder>> make_coders(double rate);
// zfp's blocks have four values, so it codes multiples of a quarter bit, and no fewer than an exponent takes.
bool is_zfp_rate(double rate, Float values);

}  // namespace moire::importing
