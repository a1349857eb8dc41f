// Finds the tensors of a .npy or .safetensors file. The functions read only the header, and never past the end of the
// file. These files have no lines, so error messages begin with the offset of the wrong byte, counted from 0.
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
  std::string name;             // empty for the array of a .npy
  std::string kind;             // type of the values, as the file spells it
  std::optional<Float> values;  // absent: not floating-point numbers of 16, 32 or 64 bits
  std::uint64_t begin = 0;      // offset of the first byte in the file
  std::uint64_t bytes = 0;      // a multiple of the size of a value
};

struct TensorFile {
  std::string name;  // name of the file in messages
  std::istream& in;
  std::uint64_t size = 0;

  TensorFile(std::string name, std::istream& in);
  // Reads `bytes` bytes at offset `at` into `to`; returns false if the file is shorter.
  bool read(std::uint64_t at, char* to, std::uint64_t bytes) const;
  // Reports an error at the byte with offset `at`.
  void refuse(std::uint64_t at, const std::string& what, const std::string& remedy,
              config::Diagnostics& diagnostics) const;
};

// Returns the only tensor of a .npy file of version 1, 2 or 3. `words_of_two` is the type of the values if the header
// only says that they have two bytes (V2, u2). Returns nothing and reports an error if the file is not valid.
std::optional<std::vector<Tensor>> read_npy(const TensorFile& file, std::optional<Float> words_of_two,
                                            config::Diagnostics& diagnostics);
// Returns all tensors of a .safetensors file in the order of their data, or nothing after an error.
std::optional<std::vector<Tensor>> read_safetensors(const TensorFile& file, config::Diagnostics& diagnostics);

}  // namespace moire::importing
