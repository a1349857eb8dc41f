// Numbers of ranks or endpoints that can be turned: consecutive numbers form blocks, blocks form larger blocks, and so
// on. A turn moves every number around inside its smallest block, every smallest block around inside the next larger
// one, and so on. With one block, which has all numbers, this is addition modulo the number of all numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace moire::core {

class Circle {
 public:
  // `blocks`: sizes of the blocks, from small to large. Each is a divisor of the next; the last is the size of the
  // whole.
  explicit Circle(const std::vector<std::uint32_t>& blocks) : all_(blocks.back()) {
    for (std::uint32_t smaller = 1; const std::uint32_t size : blocks) {
      counts_.push_back(size / smaller);
      smaller = size;
    }
  }

  // A turn is named by the number to which it moves number 0. plus() returns the number to which turn `by` moves `at`.
  // minus() returns the number that turn `by` moves to `at`. Both numbers must be below the size of the whole.
  std::uint32_t plus(std::uint32_t at, std::uint32_t by) const { return moved(at, by, false); }
  std::uint32_t minus(std::uint32_t at, std::uint32_t by) const { return moved(at, by, true); }
  // Returns the circle with `all` numbers in total, in which all blocks are larger or smaller in the same proportion.
  Circle scaled(std::uint32_t all) const {
    Circle other = *this;
    other.counts_.front() = static_cast<std::uint32_t>(std::uint64_t{counts_.front()} * all / all_);
    other.all_ = all;
    return other;
  }

 private:
  std::uint32_t moved(std::uint32_t at, std::uint32_t by, bool back) const {
    std::uint32_t sum = 0, unit = 1;
    const auto add = [&](std::uint32_t a, std::uint32_t b, std::uint32_t count) {
      sum += unit * (back ? (a >= b ? a - b : a + (count - b)) : (a >= count - b ? a - (count - b) : a + b));
    };
    for (std::size_t level = 0; level + 1 < counts_.size(); ++level) {
      const std::uint32_t count = counts_[level];
      add(at % count, by % count, count);
      at /= count;
      by /= count;
      unit *= count;
    }
    add(at, by, counts_.back());  // without a division: for one block, the network calls this for every chunk
    return sum;
  }

  std::uint32_t all_;
  std::vector<std::uint32_t> counts_;  // number of smaller blocks, or single numbers, in a block of each size
};

}  // namespace moire::core
