// Pools whose entries are reused. The index of an entry stays valid, and a pool does not grow while it has free
// entries.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace moire::core {

// Returns the index of a free entry of `pool`, or of a new entry if none is free. A reused entry still has its old
// content.
template <class Entries>
std::uint32_t take(Entries& pool, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  return index;
}

// A pool for very many entries. They lie in blocks that never move, so that no entry is copied when the pool grows.
template <class Entry>
class Pool {
 public:
  Entry& operator[](std::uint32_t index) { return blocks_[index / block][index % block]; }
  const Entry& operator[](std::uint32_t index) const { return blocks_[index / block][index % block]; }
  std::uint32_t take() {
    if (free_.empty()) {
      if (size_ % block == 0) blocks_.push_back(std::make_unique<Entry[]>(block));
      return size_++;
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) { free_.push_back(index); }
  std::size_t taken() const { return size_ - free_.size(); }

 private:
  static constexpr std::uint32_t block = 1024;
  std::vector<std::unique_ptr<Entry[]>> blocks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t size_ = 0;
};

}  // namespace moire::core
