// Numbers of ranks or endpoints that can be turned: consecutive numbers form blocks, blocks form larger blocks, and so
// on. A turn moves every number around inside its smallest block, every smallest block around inside the next larger
// one, and so on. With one block, which has all numbers, this is addition modulo the number of all numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace moire::core {

class Circle {
 public:
  // `blocks`: sizes of the blocks, from small to large. Each is a divisor of the next; the last is the size of the
  // whole.
  explicit Circle(std::vector<std::uint32_t> blocks) : blocks_(std::move(blocks)) {}

  // A turn is named by the number to which it moves number 0. plus() returns the number to which turn `by` moves `at`.
  // minus() returns the number that turn `by` moves to `at`.
  std::uint32_t plus(std::uint32_t at, std::uint32_t by) const { return moved(at, by, false); }
  std::uint32_t minus(std::uint32_t at, std::uint32_t by) const { return moved(at, by, true); }
  // Returns the circle with `all` numbers in total, in which all blocks are larger or smaller in the same proportion.
  Circle scaled(std::uint32_t all) const {
    Circle other = *this;
    for (std::uint32_t& size : other.blocks_)
      size = static_cast<std::uint32_t>(std::uint64_t{size} * all / blocks_.back());
    return other;
  }

 private:
  std::uint32_t moved(std::uint32_t at, std::uint32_t by, bool back) const {
    std::uint32_t sum = 0, unit = 1;
    for (const std::uint32_t size : blocks_) {
      const std::uint32_t a = at % size / unit, b = by % size / unit, all = size / unit;
      const std::uint32_t place = back ? (a >= b ? a - b : a + (all - b)) : (a >= all - b ? a - (all - b) : a + b);
      sum += place * unit;
      unit = size;
    }
    return sum;
  }

  std::vector<std::uint32_t> blocks_;
};

}  // namespace moire::core
