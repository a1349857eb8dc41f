// Packs values into bytes, to send them from a forked process to its parent. Trivially copyable values are sent as they
// are in memory, because both processes run the same program on the same machine. Any other type of value must have a
// function `each_field(value, each)` that calls `each` with its fields.
#pragma once

#include <concepts>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/invariant.hpp"

namespace moire::study {

// T or const T, so that one each_field() of a type serves both for packing and for unpacking.
template <class Value, class T>
concept MaybeConst = std::same_as<std::remove_const_t<Value>, T>;

class Packer {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      append(&value, sizeof value);
    } else {
      each_field(value, [this](const auto&... fields) { (put(fields), ...); });
    }
  }
  void put(const std::string& text) {
    put(text.size());
    append(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  std::string bytes;

 private:
  void append(const void* from, std::size_t size) { bytes.append(static_cast<const char*>(from), size); }
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void get(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      take(&value, sizeof value);
    } else {
      each_field(value, [this](auto&... fields) { (get(fields), ...); });
    }
  }
  void get(std::string& text) {
    text.resize(size());
    take(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(size());
    for (T& value : values) get(value);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }

 private:
  std::size_t size() {
    std::size_t size = 0;
    get(size);
    MOIRE_INVARIANT(size <= bytes_.size(), "a packed value states a size larger than the packed data");
    return size;
  }
  void take(void* to, std::size_t size) {
    MOIRE_INVARIANT(at_ + size <= bytes_.size(), "a packed value ends early");
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

template <class T>
std::string packed(const T& value) {
  Packer packer;
  packer.put(value);
  return std::move(packer.bytes);
}

template <class T>
T unpacked(const std::string& bytes) {
  T value{};
  Unpacker(bytes).get(value);
  return value;
}

}  // namespace moire::study
