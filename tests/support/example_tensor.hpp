// Makes the contents of tensor files in the formats of numpy and safetensors.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace moire::importing {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
  return out;
}

template <class Word>
std::string bytes_of_values(const std::vector<Word>& values) {
  std::string out(values.size() * sizeof(Word), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

inline std::string npy_with(const std::string& header, const std::string& data, char version = 1) {
  return std::string("\x93NUMPY") + version + '\0' + little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}
inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data, char version = 1) {
  return npy_with("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n", data, version);
}
template <class Word>
std::string npy(const std::string& descr, const std::vector<Word>& values) {
  return npy(descr, "(" + std::to_string(values.size()) + ",)", bytes_of_values(values));
}

inline std::string safetensors(const std::string& header, const std::string& data) {
  return little_endian(header.size(), 8) + header + data;
}

// Returns the bf16 of an fp32: its upper half, which rounds towards zero.
inline std::uint16_t bf16_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

// Returns normally distributed values, which are the same on every machine.
inline std::vector<float> normal_values(std::size_t count) {
  std::mt19937_64 random(1);
  const auto uniform = [&random] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform())));
  return values;
}

}  // namespace moire::importing
