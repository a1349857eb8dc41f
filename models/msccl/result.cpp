#include "models/msccl/result.hpp"

#include "models/msccl/blame.hpp"
#include "models/msccl/execution.hpp"

namespace moire::models::msccl {

namespace {

// A number for each contribution so that no two different sums are alike, but for one chance in 2^64.
std::uint64_t number_of(std::int32_t gpu, std::int64_t chunk) {
  std::uint64_t x = (static_cast<std::uint64_t>(gpu) << 40) + static_cast<std::uint64_t>(chunk) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (x ^ (x >> 31)) | 1;
}

constexpr std::uint64_t undefined = 0;

class Sums {
 public:
  using Value = std::uint64_t;

  Sums(const Wiring& wiring, const Layout& layout, const Goal& goal, Result& result)
      : wiring_(wiring), result_(result), cells_(layout.cells(), undefined) {
    for (std::int32_t gpu = 0; gpu < wiring.algorithm.ranks(); ++gpu) {
      for (std::int64_t chunk = 0; chunk < goal.inputs(gpu); ++chunk)
        cells_[layout.cell(gpu, Buffer::input, chunk)] = number_of(gpu, chunk);
    }
  }

  Value received(std::uint32_t, std::int32_t, Value message) const { return message; }
  Value read(std::uint32_t b, std::int32_t s, Buffer buffer, std::int64_t chunk, std::uint32_t cell) {
    const Value value = cells_[cell];
    if (value == undefined && result_.unwritten_reads++ == 0) {
      const Wiring::Block& block = wiring_.blocks[b];
      result_.first_unwritten = {{block.gpu, block.index, s}, buffer, chunk};
    }
    return value;
  }
  Value sum(std::uint32_t, std::int32_t, Value a, Value b) const {
    return a == undefined || b == undefined ? undefined : a + b;
  }
  Value write(std::uint32_t, std::int32_t, std::uint32_t cell, Value value) { return cells_[cell] = value; }
  Value sent(std::uint32_t, std::int32_t, Value value) const { return value; }

  Value at(std::uint32_t cell) const { return cells_[cell]; }

 private:
  const Wiring& wiring_;
  Result& result_;
  std::vector<Value> cells_;
};

// What outputs must hold. Sums over all GPUs are made once.
class Expected {
 public:
  Expected(const Algorithm& algorithm, const Goal& goal) : goal_(goal) {
    if (!goal.stated() || algorithm.ranks() < 2 || goal.expected(root, 0).size() < 2) return;
    sums_.resize(static_cast<std::size_t>(algorithm.chunks));
    for (std::int32_t gpu = 0; gpu < algorithm.ranks(); ++gpu) {
      for (std::size_t chunk = 0; chunk < sums_.size(); ++chunk)
        sums_[chunk] += number_of(gpu, static_cast<std::int64_t>(chunk));
    }
  }

  std::uint64_t at(std::int32_t gpu, std::int64_t chunk) const {
    const Contribution first = goal_.expected_first(gpu, chunk);
    return sums_.empty() ? number_of(first.gpu, first.chunk) : sums_[first.chunk];
  }

 private:
  const Goal& goal_;
  std::vector<std::uint64_t> sums_;
};

}  // namespace

Result execute(const Wiring& wiring, CallPattern pattern, const std::vector<std::uint32_t>& order,
               std::uint32_t chunks_per_call) {
  const Algorithm& algorithm = wiring.algorithm;
  const Layout layout(algorithm, pattern);
  const Goal goal(algorithm, pattern);
  Result result;
  result.stated = goal.stated();
  Sums sums(wiring, layout, goal, result);
  carry<std::uint64_t>(wiring, layout, order, chunks_per_call, sums);
  const Expected expected(algorithm, goal);
  std::optional<Wrong> first;
  for (std::int32_t gpu = 0; gpu < algorithm.ranks(); ++gpu) {
    for (std::int64_t chunk = 0; chunk < goal.outputs(gpu); ++chunk) {
      if (sums.at(layout.cell(gpu, Buffer::output, chunk)) == expected.at(gpu, chunk)) continue;
      if (result.wrong_chunks++ > 0) continue;
      first.emplace();
      first->gpu = gpu;
      first->chunk = chunk;
    }
  }
  if (first) {
    std::uint32_t lies_in = nobody;
    for (std::int64_t chunk = 0; chunk < goal.outputs(first->gpu); ++chunk) {
      const std::uint32_t cell = layout.cell(first->gpu, Buffer::output, chunk);
      if (sums.at(cell) == expected.at(first->gpu, first->chunk) && sums.at(cell) != expected.at(first->gpu, chunk)) {
        lies_in = cell;
        break;
      }
    }
    explain(wiring, layout, goal, order, chunks_per_call, lies_in, *first);
    result.first_wrong = std::move(first);
  }
  return result;
}

}  // namespace moire::models::msccl
