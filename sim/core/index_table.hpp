// A hash table of the indices of entries that are stored elsewhere. The table keeps 32 bits of each entry's hash, so a
// search reads only entries that most likely are the right one: in large runs, each entry is in no cache.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace moire::core {

class IndexTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = UINT32_MAX;

  // Returns the index for which `same` is true, or `none`. Only indices with this hash are tried. The lower 32 bits of
  // a hash must be well mixed.
  template <class Same>
  Index find(std::uint64_t hash, Same same) const {
    if (places_.empty()) return none;
    for (std::size_t at = home(hash);; at = next(at)) {
      const Place& place = places_[at];
      if (place.index == none || (place.hash == static_cast<std::uint32_t>(hash) && same(place.index)))
        return place.index;
    }
  }

  // Inserts an index that is not in the table.
  void insert(std::uint64_t hash, Index index) {
    if (2 * (size_ + 1) > places_.size()) grow();
    ++size_;
    put({static_cast<std::uint32_t>(hash), index});
  }

  // Deletes an index that was inserted with this hash. Later entries that a search would not find any more move up.
  void erase(std::uint64_t hash, Index index) {
    std::size_t hole = home(hash);
    while (places_[hole].index != index) hole = next(hole);
    --size_;
    for (std::size_t at = next(hole); places_[at].index != none; at = next(at)) {
      const std::size_t last = places_.size() - 1;
      if (((at - home(places_[at].hash)) & last) < ((at - hole) & last)) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = {};
  }

  std::size_t size() const { return size_; }

 private:
  struct Place {
    std::uint32_t hash = 0;
    Index index = none;
  };

  std::size_t home(std::uint64_t hash) const { return static_cast<std::uint32_t>(hash) & (places_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (places_.size() - 1); }
  void put(Place entry) {
    std::size_t at = home(entry.hash);
    while (places_[at].index != none) at = next(at);
    places_[at] = entry;
  }
  void grow() {
    constexpr std::size_t least = 64;
    const std::size_t places = places_.empty() ? least : 2 * places_.size();
    for (const Place& entry : std::exchange(places_, std::vector<Place>(places)))
      if (entry.index != none) put(entry);
  }

  std::vector<Place> places_;  // a power of two, at most half of them in use, searched one after the other
  std::size_t size_ = 0;
};

}  // namespace moire::core
