// Random numbers from a seed, or from bytes that a fuzzer chooses. They are the same on every machine, which the
// distributions of the standard library do not guarantee.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace moire::laws {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  Random(std::uint64_t seed, std::uint64_t number) : state_(seed * 0x9E3779B97F4A7C15U + number) { next(); }

  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
  }
  // Takes numbers from the bytes first, with as few bytes per number as its range needs. After the last byte, continues
  // with numbers from a seed, which is the number of bytes.
  explicit Random(std::string_view bytes) : state_(bytes.size()), bytes_(bytes) {}

  std::uint64_t below(std::uint64_t n) {
    if (bytes_.empty()) return next() % n;
    std::uint64_t value = 0;
    for (std::uint64_t most = n - 1; most > 0 && !bytes_.empty(); most >>= 8) {
      value = value << 8 | static_cast<unsigned char>(bytes_[0]);
      bytes_.remove_prefix(1);
    }
    return value % n;
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
  std::string_view bytes_;
};

}  // namespace moire::laws
