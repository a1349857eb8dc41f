// Where the tensors of a .npy or .safetensors lie. The readers read headers only, never more of them than the file
// holds. These files have no lines: an error names the byte of the file, counted from 0, in front of what is wrong.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::importing {

enum class Float { fp16, bf16, fp32, fp64 };

inline std::uint64_t bytes_of(Float values) { return values == Float::fp64 ? 8 : values == Float::fp32 ? 4 : 2; }
inline std::string name_of(Float values) {
  return values == Float::fp64 ? "fp64" : values == Float::fp32 ? "fp32" : values == Float::fp16 ? "fp16" : "bf16";
}

struct Tensor {
  std::string name;             // empty in a .npy
  std::string kind;             // of its values, in the file's words
  std::optional<Float> values;  // absent: not floating-point numbers of 16, 32 or 64 bits
  std::uint64_t begin = 0;      // offset of the first byte in the file
  std::uint64_t bytes = 0;      // whole values
};

struct TensorFile {
  std::string name;  // in messages
  std::istream& in;
  std::uint64_t size = 0;

  TensorFile(std::string name, std::istream& in);
  // Fills `to` with `bytes` bytes from `at`; false if they are not there.
  bool read(std::uint64_t at, char* to, std::uint64_t bytes) const;
  void refuse(std::uint64_t at, const std::string& what, const std::string& remedy,
              config::Diagnostics& diagnostics) const;
};

// Versions 1 to 3. `words_of_two` says what the words of a header are that tells their size only (V2, u2).
std::optional<std::vector<Tensor>> read_npy(const TensorFile& file, std::optional<Float> words_of_two,
                                            config::Diagnostics& diagnostics);
// All tensors in the order of their data.
std::optional<std::vector<Tensor>> read_safetensors(const TensorFile& file, config::Diagnostics& diagnostics);

}  // namespace moire::importing
